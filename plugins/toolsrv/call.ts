/** One call over a toolsrv's 9P connection. */
import { RemoteError } from "#core/client";
import type { Child } from "./child.ts";
import type { CallBody, CallRecord, ToolResult } from "./types.ts";

/** How long, in milliseconds, a cancelled call may take to tell its result before it is abandoned. */
const patience = 5000;

export interface CallOptions {
  signal: AbortSignal;
  onOutput?: ((text: string) => void) | undefined;
}

/**
 * Never rejects. When `signal` aborts, toolsrv ends the call's processes and still tells what they wrote. Undefined: the
 * connection was gone before the call was sent, so nothing has run.
 */
export async function callOver(
  child: Child,
  body: CallBody,
  { signal, onOutput }: CallOptions,
): Promise<ToolResult | undefined> {
  if (await Promise.race([child.client.ended, undefined])) return undefined;
  // From here on nobody can tell whether it has begun: it is never sent twice.
  if (signal.aborted) return notStarted;
  let streamed = "";
  const abandon = new AbortController();
  const cancel = () => {
    child.client.rdwr("ctl", `cancel ${body.id}`).catch(() => {});
    setTimeout(() => abandon.abort(), patience).unref();
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const reply = child.client.exchange("call", JSON.stringify(body), { signal: abandon.signal });
    for await (const line of lines(reply)) {
      const record = JSON.parse(line) as CallRecord;
      if ("end" in record) return record.end;
      streamed = (streamed + record.out).slice(-8000);
      onOutput?.(record.out);
    }
    return lost(streamed);
  } catch (error) {
    if (error instanceof RemoteError) return { status: "refused", content: `toolsrv: ${error.message}` };
    return signal.aborted ? abandoned(streamed) : lost(streamed);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

export const notStarted: ToolResult = { status: "cancelled", content: "cancelled before it started" };

const soFar = (streamed: string): string =>
  streamed === "" ? " (no output)" : `, its output until then:\n${streamed}`;

const abandoned = (streamed: string): ToolResult => ({
  status: "cancelled",
  content: `cancelled and abandoned${soFar(streamed)}`,
});

const lost = (streamed: string): ToolResult => ({
  status: "lost",
  content: `the tool server ended in the middle of this call, and all its processes with it${soFar(streamed)}`,
});

async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
}
