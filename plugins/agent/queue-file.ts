/** `queue`: the prompts that wait, and the verbs that change them. */
import { NineError } from "#core";
import { record } from "./lines.ts";
import { beginning, type Runtime, waiting } from "./runtime.ts";

/** `id TAB from TAB first 200 characters` a line. */
export const printQueue = (rt: Runtime): string =>
  waiting(rt)
    .map(({ id, from, text }) => `${id}\t${from}\t${beginning(text, 200)}\n`)
    .join("");

export async function editQueue(rt: Runtime, command: string): Promise<void> {
  const [verb = "", id = "", ...rest] = command.trim().split(/\s+/);
  if (verb === "clear" && id === "") return record(rt, { kind: "unqueued", ids: waiting(rt).map((item) => item.id) });
  if ((verb !== "drop" && verb !== "up") || rest.length > 0 || id === "")
    throw new NineError("queue: write one of: drop ID, clear, up ID");
  if (!waiting(rt).some((item) => item.id === id))
    throw new NineError(`queue: no prompt ${JSON.stringify(id.slice(0, 40))}`);
  return record(rt, verb === "drop" ? { kind: "unqueued", ids: [id] } : { kind: "raised", id });
}

/** Takes the first prompt out; empty where none waits. */
export function popQueue(rt: Runtime): string {
  const item = waiting(rt)[0];
  if (!item) return "";
  void record(rt, { kind: "unqueued", ids: [item.id] });
  return item.text;
}
