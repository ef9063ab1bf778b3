/** Checks a scenario that came from a file or from options. Loaded only then: it brings zod. */
import * as z from "zod";
import { NineError } from "#core";
import type { Scenario } from "./scenario.ts";

const pattern = z.string().refine(
  (text) => {
    try {
      return new RegExp(text, "s") instanceof RegExp;
    } catch {
      return false;
    }
  },
  { error: "is not a regular expression" },
);
const count = z.number().int().min(0);
const positive = z.number().int().min(1);

const step = z
  .strictObject({
    text: z.string(),
    reasoning: z.string(),
    chunk: positive,
    every: count,
    block: z.strictObject({ text: z.string(), signature: z.string().optional() }),
    call: z.strictObject({
      name: z.string().min(1),
      args: z
        .union([z.record(z.string(), z.unknown()), z.string()], { error: "must be an object or a text" })
        .optional(),
      id: z.string().optional(),
      cut: z.boolean().optional(),
    }),
    usage: z.strictObject({
      input: count,
      output: count,
      cachedInput: count.optional(),
      cacheCreation: count.optional(),
      reasoning: count.optional(),
      costUSD: z.number().min(0).optional(),
    }),
    delay: count,
    error: z.strictObject({
      kind: z.enum(["rateLimit", "transient", "overflow", "toolUnsupported", "auth", "quota", "badRequest"]),
      message: z.string(),
      retryAfterMs: count.optional(),
      status: z.number().int().optional(),
    }),
    end: z.enum(["stop", "tool_calls", "length", "content_filter", "other"]),
    hang: z.literal(true),
    drop: z.literal(true),
  })
  .partial()
  .superRefine((value, ctx) => {
    const { chunk, every, ...rest } = value;
    const verbs = Object.keys(rest);
    if (verbs.length !== 1)
      ctx.addIssue(`does one thing, this one ${verbs.length === 0 ? "nothing" : verbs.join(" and ")}`);
    if ((chunk ?? every) !== undefined && value.text === undefined && value.reasoning === undefined)
      ctx.addIssue("chunk and every belong to text or reasoning");
  });

const reply = z.preprocess(
  (value) => (typeof value === "string" ? { steps: [{ text: value }] } : value),
  z.strictObject({
    when: z
      .strictObject({ prompt: pattern, result: pattern, tool: z.string(), offers: z.string() })
      .partial()
      .optional(),
    repeat: z.union([positive, z.literal("always")], { error: "must be a number from 1 or always" }).optional(),
    steps: z.array(step),
  }),
);

const scenario = z.strictObject({
  model: z.string().min(1).optional(),
  models: z.array(z.string().min(1)).optional(),
  contextLength: positive.optional(),
  shared: z.boolean().optional(),
  chunk: positive.optional(),
  every: count.optional(),
  replies: z.array(reply),
});

/** The scenario, or a NineError with the path of the first thing that is wrong. `source` names where it came from. */
export function checkScenario(value: unknown, source: string): Scenario {
  const { data, error } = scenario.safeParse(value);
  if (data) return data;
  // A misspelt key is also a missing one: the former says more.
  const issue = error.issues.find(({ code }) => code === "unrecognized_keys") ?? error.issues[0];
  const path = issue?.path.length ? `${issue.path.join(".")}: ` : "";
  const text =
    issue?.code === "unrecognized_keys" ? `unknown key ${JSON.stringify(issue.keys[0])}` : lower(issue?.message ?? "");
  throw new NineError(`${source}: ${path}${text}`);
}

const lower = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
