/** Requests in flight by tag, and Tflush: flush(5). */
import { type Abort, lazyAbort } from "../tree/index.ts";
import type { Rmsg } from "./codec.ts";
import type { Fid } from "./fid.ts";

export interface Request {
  readonly tag: number;
  /** Made when a handler runs. */
  abort: Abort | undefined;
  /** Answered, flushed or dropped: whatever comes later is not sent. */
  done: boolean;
  /** Tclunk, Tremove, rename and attach: their flush is answered after their reply. */
  fixed: boolean;
  fid: Fid | undefined;
  /** Flushes that wait for this request's reply, in order. */
  flushes: Request[] | undefined;
}

export interface Requests {
  /** Undefined: the tag is in use. */
  begin(tag: number): Request | undefined;
  /** Sends the reply, unless the request was flushed meanwhile; then its waiting flushes. */
  reply(request: Request, msg: Rmsg): void;
  flush(oldtag: number, flush: Request): void;
  /** Tversion and hang-up: forgets all, aborts all. */
  reset(reason: Error): void;
  readonly size: number;
}

export function requests(send: (msg: Rmsg) => void, onFlushed: (request: Request) => void): Requests {
  const table = new Map<number, Request>();
  const finish = (request: Request) => {
    request.done = true;
    if (table.get(request.tag) === request) table.delete(request.tag);
  };
  const reply = (request: Request, msg: Rmsg) => {
    if (request.done) return;
    finish(request);
    send(msg);
    for (const flush of request.flushes ?? []) reply(flush, { type: "Rflush", tag: flush.tag });
  };
  return {
    begin(tag) {
      if (table.has(tag)) return undefined;
      const request: Request = { tag, abort: undefined, done: false, fixed: false, fid: undefined, flushes: undefined };
      table.set(tag, request);
      return request;
    },
    reply,
    flush(oldtag, flush) {
      const old = table.get(oldtag);
      if (!old || old === flush) return reply(flush, { type: "Rflush", tag: flush.tag });
      if (old.fixed) {
        flush.fixed = true;
        old.flushes ??= [];
        old.flushes.push(flush);
        return;
      }
      finish(old);
      old.abort?.abort();
      onFlushed(old);
      reply(flush, { type: "Rflush", tag: flush.tag });
    },
    reset(reason) {
      const all = [...table.values()];
      table.clear();
      for (const request of all) {
        request.done = true;
        request.abort?.abort(reason);
      }
    },
    get size() {
      return table.size;
    },
  };
}

/** The request's abort, made when it is first needed. */
export function abortOf(request: Request): Abort {
  request.abort ??= lazyAbort();
  return request.abort;
}
