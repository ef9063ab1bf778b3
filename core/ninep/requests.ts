/** Requests in flight by tag, Tflush (flush(5)), and lines of messages that wait for one that is pending. */
import { NineError, Rerror } from "../errors.ts";
import { type Abort, lazyAbort, type ReadAnswer, type WriteAnswer } from "../tree/index.ts";
import { type Encoded, NOTAG, type Rmsg, type Tmsg } from "./codec.ts";
import type { Fid } from "./fid.ts";
import { limits, overLimit } from "./limits.ts";
import { Numbered } from "./numbered.ts";

/** What a request needs of its connection. */
export interface Home {
  reply(request: Request, msg: Rmsg | Encoded): void;
  fail(request: Request, error: unknown): void;
  /** Whether a blocked read may take data now; if not, `wake` is called when it may. */
  room(wake: () => void): boolean;
}

/**
 * A request in flight. It is itself the answer that the tree asks for: a record with closures for each message was a third
 * of what a small read costs.
 */
export class Request implements ReadAnswer, WriteAnswer {
  readonly type: Tmsg["type"];
  readonly tag: number;
  readonly #home: Home;
  /** Answered, flushed or dropped: whatever comes later is not sent. */
  done = false;
  /** Tclunk, Tremove, rename and attach: their flush is answered after their reply. */
  fixed = false;
  /** The fid whose reads it is one of, while it is not answered. */
  reading: Fid | undefined = undefined;
  /** The line that goes on when this is over. */
  blocks: Line | undefined = undefined;
  /** Flushes that wait for this request's reply, in order. */
  flushes: Request[] | undefined = undefined;
  /** Of a flush that waits: for which reply. */
  awaits: Request | undefined = undefined;
  #abort: Abort | undefined = undefined;

  constructor(type: Tmsg["type"], tag: number, home: Home) {
    this.type = type;
    this.tag = tag;
    this.#home = home;
  }

  /** Made when somebody asks. */
  get abort(): Abort {
    this.#abort ??= lazyAbort();
    return this.#abort;
  }

  /** Aborts what has been asked for. */
  cancel(reason?: unknown): void {
    this.#abort?.abort(reason);
  }

  room(wake: () => void): boolean {
    return this.#home.room(wake);
  }

  /** `given`: the data of a Tread, the count of a Twrite; other replies are bare. */
  ok(given?: unknown): void {
    const { tag } = this;
    if (this.type === "Tread") this.#home.reply(this, { type: "Rread", tag, data: given as Uint8Array });
    else if (this.type === "Twrite") this.#home.reply(this, { type: "Rwrite", tag, count: given as number });
    else if (this.type === "Tclunk") this.#home.reply(this, { type: "Rclunk", tag });
    else if (this.type === "Tremove") this.#home.reply(this, { type: "Rremove", tag });
    else this.#home.reply(this, { type: "Rwstat", tag });
  }

  fail(error: unknown): void {
    this.#home.fail(this, error);
  }
}

/** Messages in order of arrival, the first of which may be pending. */
export interface Line {
  busy: Request | undefined;
  waiting: { run(): void }[];
}

export const newLine = (): Line => ({ busy: undefined, waiting: [] });

/** Whatever comes later in `line` waits for `request`, if that is still pending. */
export function block(line: Line, request: Request): void {
  if (request.done) return;
  line.busy = request;
  request.blocks = line;
}

function proceed(line: Line): void {
  line.busy = undefined;
  let next = 0;
  const { waiting } = line;
  while (!line.busy && next < waiting.length) waiting[next++]?.run();
  // What arrives meanwhile finds the line not empty and waits behind.
  waiting.splice(0, next);
}

export interface Requests {
  /** Throws NineError: the tag is in use, or too many are. */
  begin(type: Tmsg["type"], tag: number): Request;
  /** Sends the reply, unless the request was flushed meanwhile; then its waiting flushes. */
  reply(request: Request, msg: Rmsg | Encoded): void;
  flush(oldtag: number, flush: Request): void;
  /** Tversion and hang-up: forgets all, aborts all. */
  reset(reason: Error): void;
}

export function requests(send: (msg: Rmsg | Encoded) => void, home: () => Home): Requests {
  const table = new Numbered<Request>();
  const finish = (request: Request) => {
    request.done = true;
    if (table.get(request.tag) === request) table.delete(request.tag);
    request.reading?.reads?.delete(request);
  };
  const goOn = (request: Request) => {
    if (request.blocks?.busy === request) proceed(request.blocks);
  };
  const rflush = (flush: Request) => {
    if (flush.done) return;
    finish(flush);
    send({ type: "Rflush", tag: flush.tag });
  };
  return {
    begin(type, tag) {
      if (tag === NOTAG) throw new NineError("tag NOTAG is for version only");
      if (table.get(tag)) throw new NineError(Rerror.dupTag);
      if (table.size >= limits.requests) throw overLimit("requests");
      const request = new Request(type, tag, home());
      table.set(tag, request);
      return request;
    },
    reply(request, msg) {
      if (request.done) return;
      finish(request);
      send(msg);
      if (request.flushes) for (const flush of request.flushes) rflush(flush);
      goOn(request);
    },
    flush(oldtag, flush) {
      const old = table.get(oldtag);
      if (!old || old === flush) return rflush(flush);
      // A flush of a flush waits for what that one waits for.
      const root = old.awaits ?? old;
      if (root.fixed) {
        flush.awaits = root;
        root.flushes ??= [];
        root.flushes.push(flush);
        return;
      }
      finish(old);
      old.cancel();
      rflush(flush);
      goOn(old);
    },
    reset(reason) {
      const all = table.clear();
      for (const request of all) {
        request.done = true;
        request.cancel(reason);
      }
    },
  };
}
