/** Requests in flight by tag, Tflush (flush(5)), and lines of messages that wait for one that is pending. */
import { NineError, Rerror } from "../errors.ts";
import { type Abort, lazyAbort } from "../tree/index.ts";
import { NOTAG, type Rmsg } from "./codec.ts";
import type { Fid } from "./fid.ts";
import { limits, overLimit } from "./limits.ts";

export interface Request {
  readonly tag: number;
  /** Made when a handler runs. */
  abort: Abort | undefined;
  /** Answered, flushed or dropped: whatever comes later is not sent. */
  done: boolean;
  /** Tclunk, Tremove, rename and attach: their flush is answered after their reply. */
  fixed: boolean;
  /** The fid whose reads it is one of, while it is not answered. */
  reading: Fid | undefined;
  /** The line that goes on when this is over. */
  blocks: Line | undefined;
  /** Flushes that wait for this request's reply, in order. */
  flushes: Request[] | undefined;
  /** Of a flush that waits: for which reply. */
  awaits: Request | undefined;
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
  begin(tag: number): Request;
  /** Sends the reply, unless the request was flushed meanwhile; then its waiting flushes. */
  reply(request: Request, msg: Rmsg): void;
  flush(oldtag: number, flush: Request): void;
  /** Tversion and hang-up: forgets all, aborts all. */
  reset(reason: Error): void;
}

export function requests(send: (msg: Rmsg) => void): Requests {
  const table = new Map<number, Request>();
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
    begin(tag) {
      if (tag === NOTAG) throw new NineError("tag NOTAG is for version only");
      if (table.has(tag)) throw new NineError(Rerror.dupTag);
      if (table.size >= limits.requests) throw overLimit("requests");
      const request: Request = {
        tag,
        abort: undefined,
        done: false,
        fixed: false,
        reading: undefined,
        blocks: undefined,
        flushes: undefined,
        awaits: undefined,
      };
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
      old.abort?.abort();
      rflush(flush);
      goOn(old);
    },
    reset(reason) {
      const all = [...table.values()];
      table.clear();
      for (const request of all) {
        request.done = true;
        request.abort?.abort(reason);
      }
    },
  };
}

/** The request's abort, made when it is first needed. */
export function abortOf(request: Request): Abort {
  request.abort ??= lazyAbort();
  return request.abort;
}
