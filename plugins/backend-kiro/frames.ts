/** The binary event stream of AWS: frames with lengths and checksums, cut by the network anywhere. */
import type { EventStreamCodec } from "@smithy/core/event-streams";

export interface Frame {
  /** `event`, `exception` or `error`. */
  kind: string;
  /** Name of the event, the exception or the error. */
  type: string;
  /** The body, most often JSON. */
  text: string;
}

/** Bytes of one frame. The codec takes none over 24 MiB; a length that is wrong must not make us wait for more. */
const longest = 24 * 1024 * 1024;

/** A batch for each piece, which may be empty. Throws Error for a frame that is broken, or that breaks off. */
export async function* frameBatches(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Frame[]> {
  const codec = await makeCodec();
  let waiting: Uint8Array[] = [];
  let size = 0;
  let wanted = 4;
  for await (const piece of pieces) {
    waiting.push(piece);
    size += piece.length;
    if (size < wanted) {
      yield [];
      continue;
    }
    const bytes = Buffer.concat(waiting);
    const frames: Frame[] = [];
    let at = 0;
    for (; bytes.length - at >= 4; at += wanted) {
      wanted = bytes.readUInt32BE(at);
      if (wanted < 16 || wanted > longest) throw new Error(`a frame claims to have ${wanted} bytes`);
      if (bytes.length - at < wanted) break;
      frames.push(frameOf(codec, bytes.subarray(at, at + wanted)));
    }
    const rest = bytes.subarray(at);
    waiting = rest.length > 0 ? [rest] : [];
    size = rest.length;
    if (size < 4) wanted = 4;
    yield frames;
  }
  if (size > 0) throw new Error("the stream ended inside of a frame");
}

function frameOf(codec: EventStreamCodec, bytes: Uint8Array): Frame {
  const { headers, body } = codec.decode(bytes);
  const header = (name: string) => String(headers[name]?.value ?? "");
  const kind = header(":message-type") || "event";
  const type = header(":event-type") || header(":exception-type") || header(":error-code");
  const text = new TextDecoder().decode(body);
  return { kind, type, text: kind === "error" && text === "" ? header(":error-message") : text };
}

async function makeCodec(): Promise<EventStreamCodec> {
  const { EventStreamCodec: Codec } = await import("@smithy/core/event-streams");
  return new Codec(
    (bytes) => (typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes)),
    (text) => new TextEncoder().encode(text),
  );
}
