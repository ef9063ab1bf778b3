/** /generate: one prompt, one answer, streamed; or a JSON value that a schema accepts. */
import { NineError } from "#core";
import type { Backend, Backends, Message, Params } from "#plugins/backends";
import { backendFor, stream, unfenced, whole } from "./ask.ts";
import { numberOf, parseRequest, type Request, textOf } from "./grammar.ts";
import type { JsonCheck } from "./json.ts";

const file = "generate";
const keys = ["backend", "model", "system", "temperature", "maxTokens", "reasoning", "output", "schema"] as const;

export const generateUsage = `Write a prompt, with lines in front of it if you like, then read the answer as it comes.

key=value lines, a line ---, the prompt. Or one JSON object with prompt and the keys.

keys: backend model system temperature maxTokens reasoning (effort) output=json schema (a JSON Schema: the answer is one JSON value
that it accepts, checked, asked for a second time where it is not)
`;

export async function generate(
  data: Uint8Array,
  backends: Backends,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  const request = parseRequest(file, data, keys, "prompt");
  const field = (key: (typeof keys)[number]) => textOf(request, key, file);
  const check = await checkOf(request);
  const system = [field("system"), check?.instruction].filter(Boolean).join("\n\n");
  const messages: Message[] = [
    ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
    { role: "user", content: request.body },
  ];
  const params = paramsOf(request);
  const backend = await backendFor({ backend: field("backend"), model: field("model") }, backends);
  if (!check) return stream(file, backend, { messages, params, signal });
  return bound(
    backend,
    messages,
    check.isObject ? { ...params, responseFormat: "json_object" } : params,
    check,
    signal,
  );
}

function paramsOf(request: Request): Params {
  const temperature = numberOf(request, "temperature", file, { min: 0, max: 2 });
  const maxTokens = numberOf(request, "maxTokens", file, { min: 1, max: 1_000_000, whole: true });
  const effort = textOf(request, "reasoning", file);
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}

async function checkOf(request: Request): Promise<JsonCheck | undefined> {
  const output = textOf(request, "output", file);
  if (output !== undefined && output !== "json" && output !== "text")
    throw new NineError(`generate: output must be json or text, not ${JSON.stringify(output.slice(0, 40))}`);
  const { schema } = request.fields;
  const bare = schema === undefined || schema === "";
  if (bare && output !== "json") return undefined;
  if (output === "text") throw new NineError("generate: a schema needs output=json");
  const { checker } = await import("./json.ts");
  return checker(bare ? undefined : schema);
}

/** Nothing of it is given out before all of it is accepted. */
async function* bound(backend: Backend, messages: Message[], params: Params, check: JsonCheck, signal: AbortSignal) {
  const ask = (all: readonly Message[]) => whole(stream(file, backend, { messages: all, params, signal }));
  const first = await ask(messages);
  let result = check.read(unfenced(first));
  if ("wrong" in result) {
    const again: Message[] = [
      { role: "assistant", content: first },
      {
        role: "user",
        content: `That is not accepted: ${result.wrong}. Reply with the corrected JSON value and nothing else.`,
      },
    ];
    result = check.read(unfenced(await ask([...messages, ...again])));
  }
  if ("wrong" in result)
    throw new NineError(`generate: the reply is not accepted, nor its correction: ${result.wrong}`);
  yield `${JSON.stringify(result.value)}\n`;
}
