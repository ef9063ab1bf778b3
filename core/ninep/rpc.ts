/** Requests over one 9P connection: tags, many in flight, Tflush, and what happens when the connection ends. */
import type { Duplex } from "node:stream";
import { decode, encode, type MsgOf, NOTAG, ProtocolError, type Rmsg, type Tmsg } from "./codec.ts";
import { framer } from "./frame.ts";

/** The server refused a request: `message` is the text of its Rerror. */
export class RemoteError extends Error {
  constructor(text: string) {
    super(text);
    this.name = "RemoteError";
  }
}

export interface Rpc {
  /** Largest message, either way. Starts as what the client offers; set when the server has answered. */
  msize: number;
  /**
   * Sends `msg`, whose tag is chosen here, and gives what `take` makes of the reply of type `want`. `data` of an Rread is valid only
   * inside `take`. Rejects with RemoteError when the server refuses, and with the one error of the connection when that ends.
   *
   * An aborted `signal` sends a Tflush. The promise rejects with the signal's reason once the server has confirmed it; a reply that
   * was faster counts as if nothing had been flushed, as flush(5) demands, since it may tell of a change.
   */
  request<W extends Rmsg["type"], T>(
    msg: Tmsg,
    want: W,
    take: (reply: MsgOf<W>) => T,
    signal?: AbortSignal,
  ): Promise<T>;
  /** Takes what has come from the server; the bytes are the caller's again when it returns. */
  push(chunk: Buffer): void;
  /** Ends the connection: everything pending, and all that is asked later, rejects with `error`. */
  end(error: Error): void;
  /** Why the connection ended, once it has. Never rejects. */
  readonly ended: Promise<Error>;
}

interface Pending {
  want: Rmsg["type"];
  take(reply: Rmsg): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  stopListening?: () => void;
  /** A Tflush is under way: the tag stays taken until its Rflush. */
  flushing: boolean;
}

/** Writes to `duplex` and watches for its end; what it gives is to be pushed. `name` says in errors with whom it speaks. */
export function rpcOver(duplex: Duplex, msize: number, name: string): Rpc {
  const pending = new Map<number, Pending>();
  const freeTags: number[] = [];
  let nextTag = 0;
  let failure: Error | undefined;
  let queue: Buffer[] = [];

  const flushQueue = (): void => {
    const bytes = queue.length === 1 ? (queue[0] as Buffer) : Buffer.concat(queue);
    queue = [];
    if (!failure) duplex.write(bytes);
  };

  /** All that is asked within one tick leaves in one write. */
  const send = (bytes: Buffer): void => {
    if (queue.push(bytes) === 1) process.nextTick(flushQueue);
  };

  const takeTag = (): number => {
    const tag = freeTags.pop();
    if (tag !== undefined) return tag;
    if (nextTag === NOTAG) throw new Error(`${name}: ${NOTAG} requests are in flight`);
    return nextTag++;
  };

  const release = (tag: number): void => {
    pending.delete(tag);
    if (tag !== NOTAG) freeTags.push(tag);
  };

  const submit = (msg: Tmsg, entry: Pending): void => {
    msg.tag = msg.type === "Tversion" ? NOTAG : takeTag();
    try {
      const bytes = encode(msg);
      if (bytes.length > rpc.msize) throw new ProtocolError(`${msg.type} is over msize ${rpc.msize}`);
      send(bytes);
      pending.set(msg.tag, entry);
    } catch (error) {
      release(msg.tag);
      throw error;
    }
  };

  const flush = (tag: number, entry: Pending, reason: unknown): void => {
    entry.flushing = true;
    const done = (): void => {
      release(tag);
      entry.reject(reason);
    };
    const flushed: Pending = { want: "Rflush", take: done, resolve: () => {}, reject: done, flushing: false };
    try {
      submit({ type: "Tflush", tag: 0, oldtag: tag }, flushed);
    } catch (error) {
      end(error as Error);
    }
  };

  const answer = (reply: Rmsg, entry: Pending): void => {
    const refused = reply.type === "Rerror";
    if (!refused && reply.type !== entry.want) throw new ProtocolError(`${reply.type} came in place of ${entry.want}`);
    entry.stopListening?.();
    if (!entry.flushing) release(reply.tag);
    if (refused) return entry.reject(new RemoteError(reply.ename));
    try {
      entry.resolve(entry.take(reply));
    } catch (error) {
      entry.reject(error);
    }
  };

  const frames = framer(
    (buf, start, stop) => {
      if (failure) return;
      const reply = decode(buf, start, stop) as Rmsg;
      const entry = pending.get(reply.tag);
      if (!entry) throw new ProtocolError(`${reply.type} came for tag ${reply.tag}, which is not in use`);
      answer(reply, entry);
    },
    () => rpc.msize,
  );

  let tellEnded: (error: Error) => void;
  const ended = new Promise<Error>((resolve) => {
    tellEnded = resolve;
  });

  const end = (error: Error): void => {
    if (failure) return;
    failure = error;
    duplex.destroy();
    const entries = [...pending.values()];
    pending.clear();
    for (const entry of entries) {
      entry.stopListening?.();
      entry.reject(error);
    }
    tellEnded(error);
  };

  duplex.on("error", (error) => end(new Error(`${name}: connection failed: ${error.message}`, { cause: error })));
  duplex.on("end", () => end(new Error(`${name}: the server closed the connection`)));
  duplex.on("close", () => end(new Error(`${name}: the connection was closed`)));

  const rpc: Rpc = {
    msize,
    ended,
    end,
    push(chunk) {
      try {
        frames.push(chunk);
      } catch (error) {
        end(new Error(`${name}: ${(error as Error).message}`, { cause: error }));
      }
    },
    request(msg, want, take, signal) {
      return new Promise((resolve, reject) => {
        if (failure) throw failure;
        if (signal?.aborted) throw signal.reason;
        const entry: Pending = {
          want,
          take: take as Pending["take"],
          resolve: resolve as Pending["resolve"],
          reject,
          flushing: false,
        };
        submit(msg, entry);
        if (!signal) return;
        const { tag } = msg;
        const abort = (): void => flush(tag, entry, signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        entry.stopListening = () => signal.removeEventListener("abort", abort);
      });
    },
  };
  return rpc;
}
