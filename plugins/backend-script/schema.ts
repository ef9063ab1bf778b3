/** Checks a scenario that came from a file or from options. Loaded only then. */
import * as z from "zod/mini";
import english from "zod/v4/locales/en.js";
import { NineError } from "#core";
import type { Scenario } from "./scenario.ts";

const isPattern = (text: string): boolean => {
  try {
    return new RegExp(text, "s") instanceof RegExp;
  } catch {
    return false;
  }
};

const pattern = z.string().check(z.refine(isPattern, { error: "is not a regular expression" }));
const name = z.string().check(z.minLength(1));
const count = z.int().check(z.minimum(0));
const positive = z.int().check(z.minimum(1));

const verbs = z.strictObject({
  text: z.string(),
  reasoning: z.string(),
  chunk: positive,
  every: count,
  block: z.strictObject({ text: z.string(), signature: z.optional(z.string()) }),
  call: z.strictObject({
    name,
    args: z.optional(
      z.union([z.record(z.string(), z.unknown()), z.string()], { error: "must be an object or a text" }),
    ),
    id: z.optional(z.string()),
    cut: z.optional(z.boolean()),
  }),
  usage: z.strictObject({
    input: count,
    output: count,
    cachedInput: z.optional(count),
    cacheCreation: z.optional(count),
    reasoning: z.optional(count),
    costUSD: z.optional(z.number().check(z.minimum(0))),
  }),
  delay: count,
  error: z.strictObject({
    kind: z.enum(["rateLimit", "transient", "overflow", "toolUnsupported", "auth", "quota", "badRequest"]),
    message: z.string(),
    retryAfterMs: z.optional(count),
    status: z.optional(z.int()),
  }),
  end: z.enum(["stop", "tool_calls", "length", "content_filter", "other"]),
  hang: z.literal(true),
  drop: z.literal(true),
});

const step = z.partial(verbs).check(
  z.superRefine(({ chunk, every, ...verbs }, ctx) => {
    const names = Object.keys(verbs);
    if (names.length !== 1)
      ctx.addIssue(`does one thing, this one ${names.length === 0 ? "nothing" : names.join(" and ")}`);
    if ((chunk ?? every) !== undefined && verbs.text === undefined && verbs.reasoning === undefined)
      ctx.addIssue("chunk and every belong to text or reasoning");
  }),
);

const when = z.strictObject({ prompt: pattern, result: pattern, tool: z.string(), offers: z.string() });

const reply = z.pipe(
  z.transform((value) => (typeof value === "string" ? { steps: [{ text: value }] } : value)),
  z.strictObject({
    when: z.optional(z.partial(when)),
    repeat: z.optional(z.union([positive, z.literal("always")], { error: "must be a number from 1 or always" })),
    steps: z.array(step),
  }),
);

const scenario = z.strictObject({
  model: z.optional(name),
  models: z.optional(z.array(name)),
  contextLength: z.optional(positive),
  shared: z.optional(z.boolean()),
  chunk: z.optional(positive),
  every: z.optional(count),
  replies: z.array(reply),
});

/** The scenario, or a NineError with the path of the first thing that is wrong. `source` names where it came from. */
export function checkScenario(value: unknown, source: string): Scenario {
  const { data, error } = scenario.safeParse(value, { error: english().localeError });
  if (data) return data;
  // A misspelt key is also a missing one: the former says more.
  const issue = error.issues.find(({ code }) => code === "unrecognized_keys") ?? error.issues[0];
  const path = issue?.path.length ? `${issue.path.join(".")}: ` : "";
  const text =
    issue?.code === "unrecognized_keys" ? `unknown key ${JSON.stringify(issue.keys[0])}` : lower(issue?.message ?? "");
  throw new NineError(`${source}: ${path}${text}`);
}

const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
