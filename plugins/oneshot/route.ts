/** /route: which backend and model for a task, of those that are really there. */
import { NineError } from "#core";
import type { Backends, ModelFacts } from "#plugins/backends";
import { parseRequest, type Request } from "./grammar.ts";

const file = "route";
const keys = ["backend", "need"] as const;

export const routeUsage = `Write what is needed, then read backend=, model= and why= lines.

key=value lines, a line ---, the task. Or one JSON object with task and the keys.

keys: backend (only this one) need (a list of tools, context=TOKENS, and one of cheap, fast, power)

The models are those that the usable backends list. tools leaves out what only embeds, speaks, hears or draws. context is
compared with the known windows; a model whose window is not known is taken where no other fits. cheap takes the lowest known price, power the
highest, fast the lowest of those whose names say that they are small or quick. Without cheap, fast or power, the default
backend and model are taken where they fit.
`;

interface Candidate {
  backend: string;
  model: string;
  facts: ModelFacts;
  /** USD for a million tokens in and a quarter of that out; undefined where it is not known. */
  price: number | undefined;
}

interface Needs {
  context: number;
  tools: boolean;
  class: "cheap" | "fast" | "power" | undefined;
}

/** No text models by their names, since few lists say what a model is for. */
const notChat =
  /embed|whisper|tts|audio|speech|transcri|image|imagen|dall-e|veo|sora|vision-only|moderation|rerank|realtime|live|guard|ocr|lyria/i;
const quick = /flash|mini|nano|lite|haiku|small|fast|instant|turbo|luna|[^\d](?:[1-9]|1[0-4])b\b/i;

export async function route(data: Uint8Array, backends: Backends): Promise<string> {
  const request = parseRequest(file, data, keys, "task");
  const needs = needsOf(request);
  const only = typeof request.fields.backend === "string" ? request.fields.backend : undefined;
  const { candidates, failed } = await candidatesOf(backends, only);
  // Four characters a token, and room for the answer.
  const wanted = Math.max(needs.context, Math.ceil(request.body.length / 4) + 4_000);
  const fitting = candidates.filter(
    ({ model, facts }) => !(needs.tools && notChat.test(model)) && (facts.context ?? wanted) >= wanted,
  );
  const found = await pick(fitting, needs, backends, only);
  if (!found) {
    const why =
      candidates.length === 0
        ? "no backend lists a model"
        : `none of ${candidates.length} models has a window of ${wanted} tokens`;
    throw new NineError(`route: ${why}${failed.length > 0 ? ` (not asked: ${failed.join(", ")})` : ""}`);
  }
  const { backend, model, why } = found;
  const context = found.facts.context === undefined ? "window not known" : `window of ${found.facts.context} tokens`;
  return `backend=${backend}\nmodel=${model}\nwhy=${why}; ${context}; ${fitting.length} of ${candidates.length} models fit\n`;
}

function needsOf({ fields }: Request): Needs {
  const list = Array.isArray(fields.need) ? fields.need.map(String) : String(fields.need ?? "").split(/[\s,]+/);
  const needs: Needs = { context: 0, tools: false, class: undefined };
  for (const item of list.filter((one) => one !== "")) {
    const context = /^context=(\d+)$/.exec(item)?.[1];
    if (context !== undefined) needs.context = Number(context);
    else if (item === "tools") needs.tools = true;
    else if (item === "cheap" || item === "fast" || item === "power") {
      if (needs.class && needs.class !== item)
        throw new NineError(`route: ${needs.class} and ${item} exclude each other`);
      needs.class = item;
    } else
      throw new NineError(
        `route: unknown need ${JSON.stringify(item.slice(0, 40))} (known: tools context=N cheap fast power)`,
      );
  }
  return needs;
}

async function candidatesOf(backends: Backends, only: string | undefined) {
  const lists = await backends.models(only);
  const rows = lists.flatMap(({ backend, models }) => models.map((model) => ({ backend, model })));
  const candidates = await Promise.all(
    rows.map(async ({ backend, model }): Promise<Candidate> => {
      const facts = await backends.about(backend, model);
      const { input, output } = facts;
      const price = input === undefined || output === undefined ? undefined : input + output / 4;
      return { backend, model, facts, price };
    }),
  );
  // The offline script is no model; it is taken where nothing else is there.
  const real = candidates.filter(({ backend }) => backend !== "script");
  return {
    candidates: real.length > 0 ? real : candidates,
    failed: lists.flatMap(({ backend, error }) => (error === undefined ? [] : [backend])),
  };
}

async function pick(fitting: Candidate[], needs: Needs, backends: Backends, only: string | undefined) {
  const chat = fitting.filter(({ model }) => !notChat.test(model));
  const usable = chat.length > 0 ? chat : fitting;
  const sure = needs.context > 0 ? usable.filter(({ facts }) => facts.context !== undefined) : [];
  const pool = sure.length > 0 ? sure : usable;
  if (needs.class === undefined) {
    const standard = await standardOf(backends, only);
    const mine = pool.find(({ backend, model }) => backend === standard?.backend && model === standard.model);
    if (mine) return { ...mine, why: "the default, which fits" };
  }
  const priced = pool.filter(({ price }) => price !== undefined).sort((a, b) => (a.price ?? 0) - (b.price ?? 0));
  const small = priced.filter(({ model }) => quick.test(model));
  const choices = {
    cheap: [priced[0], "the lowest known price"],
    fast: [
      small[0] ?? pool.find(({ model }) => quick.test(model)),
      "small or quick by its name, at the lowest known price",
    ],
    power: [priced.at(-1), "the highest known price"],
  } as const;
  const [found, why] = choices[needs.class ?? "cheap"];
  if (found) return { ...found, why };
  const [first] = pool;
  return first && { ...first, why: "the first that fits: no price of them is known" };
}

async function standardOf(backends: Backends, only: string | undefined) {
  try {
    const { name, model } = await backends.create(only ? { backend: only } : {});
    return { backend: name, model };
  } catch (error) {
    if (error instanceof NineError) return undefined;
    throw error;
  }
}
