/** /complete: the text that an editor inserts at the cursor. */
import type { Backends } from "#plugins/backends";
import { backendFor, stream, unfenced, whole } from "./ask.ts";
import { numberOf, parseRequest, textOf } from "./grammar.ts";

const file = "complete";
const keys = ["file", "language", "suffix", "context", "backend", "model", "max"] as const;

export const completeUsage = `Write the text before the cursor, with lines in front of it if you like, then read the text to insert.

key=value lines, a line ---, the text before the cursor, and, where there is text behind it, a line --- and that text.
Or one JSON object with prefix, suffix and the keys.

keys: file (its name) language suffix (behind the cursor, one line) context (what helps to know) backend model max (tokens)
`;

/** Characters that are sent: what is near the cursor counts. */
const near = { before: 16_000, behind: 4_000 };

const instruction = `You complete text in an editor. The cursor stands between <before> and <behind>. Reply with the text to insert at the cursor and nothing else: no explanation, no code fence, no repetition of what stands before or behind it.`;

export async function complete(data: Uint8Array, backends: Backends, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  const request = parseRequest(file, data, keys, "prefix");
  const field = (key: (typeof keys)[number]) => textOf(request, key, file);
  const { before, behind } = sides(request.body, field("suffix"));
  const about = [
    field("file") && `File: ${field("file")}`,
    field("language") && `Language: ${field("language")}`,
    field("context") && `<context>\n${field("context")}\n</context>`,
  ];
  const text = `<before>${before.slice(-near.before)}</before>\n<behind>${behind.slice(0, near.behind)}</behind>`;
  const backend = await backendFor(
    {
      backend: field("backend") ?? env.OLLIE_COMPLETE_BACKEND,
      model: field("model") ?? (field("backend") ? undefined : env.OLLIE_COMPLETE_MODEL),
    },
    backends,
  );
  const reply = await whole(
    stream(file, backend, {
      messages: [
        { role: "system", content: instruction },
        { role: "user", content: [...about.filter(Boolean), text].join("\n") },
      ],
      params: { maxTokens: numberOf(request, "max", file, { min: 1, max: 100_000, whole: true }) ?? 1_024 },
      signal,
    }),
  );
  return clean(reply, before, behind);
}

/** The body is what stands before the cursor; a line `---` in it, where no suffix was given, begins what stands behind. */
function sides(body: string, suffix: string | undefined): { before: string; behind: string } {
  const mark = suffix === undefined ? /(?:^|\n)---\r?\n/.exec(body) : null;
  if (!mark) return { before: body, behind: suffix ?? "" };
  return { before: body.slice(0, mark.index), behind: body.slice(mark.index + mark[0].length) };
}

/**
 * Models fence what they were told not to fence, begin with the line that is there already, and end with the one that
 * follows. White space at the end is none of the insertion.
 */
export function clean(reply: string, before: string, behind: string): string {
  let text = unfenced(reply).replace(/^<(?:insert|before)>|<\/(?:insert|behind)>\s*$/g, "");
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (line.trim() !== "" && text.startsWith(line)) text = text.slice(line.length);
  const next = behind.trim().split("\n")[0]?.trim() ?? "";
  if (next.length > 3 && text.trimEnd().endsWith(next)) text = text.trimEnd().slice(0, -next.length);
  return text.trimEnd();
}
