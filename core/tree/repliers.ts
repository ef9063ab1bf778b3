/** The kinds rdwr and request: write a body, read its reply on the same fid. */
import { NineError } from "../errors.ts";
import { isThenable } from "../thenable.ts";
import { type Abort, lazyAbort } from "./call.ts";
import type { Reader, Site, Writer } from "./open.ts";
import { empty, runOf, slice, sourceReader } from "./readers.ts";
import { bytesOf, fromIterable, fromText } from "./source.ts";
import type { Text } from "./spec.ts";
import { tooLong } from "./writers.ts";

const requestMax = 8 << 20;
const rdwrMax = 1 << 20;

export function repliers(site: Site): [Reader, Writer] {
  return site.file.spec.rdwr ? rdwr(site) : request(site);
}

function rdwr(site: Site): [Reader, Writer] {
  const { spec, owner, name } = site.file;
  const handler = spec.rdwr as NonNullable<typeof spec.rdwr>;
  const max = spec.max ?? rdwrMax;
  let reply: Uint8Array | undefined;
  const run = (abort: Abort, body: Uint8Array | undefined, ok: () => void, fail: (error: NineError) => void) =>
    site.guard.run(
      owner,
      body ? "write" : "read",
      site.node,
      site.guard.host.handlerLimit,
      () => handler(site.context(abort), body),
      {
        ok(value) {
          // Flushed: it must not stand in for the reply to what was written since.
          if (abort.aborted) return;
          try {
            reply = bytesOf(value);
          } catch (error) {
            return fail(site.guard.errorOf(owner, "write", site.node, error));
          }
          ok();
        },
        fail,
      },
      abort,
    );
  const reader: Reader = {
    read(offset, count, answer) {
      if (reply) return answer.ok(slice(reply, offset, count));
      run(
        answer.abort,
        undefined,
        () => answer.ok(slice(reply ?? empty, offset, count)),
        (error) => answer.fail(error),
      );
    },
    length: () => reply?.length,
    written() {},
    end() {},
    close() {},
  };
  const writer: Writer = {
    write(data, answer) {
      if (data.length > max) return answer.fail(tooLong(name, max));
      const count = data.length;
      reply = undefined;
      run(
        answer.abort,
        data,
        () => answer.ok(count),
        (error) => answer.fail(error),
      );
    },
    close: (_commit, answer) => answer.ok(),
    pending: () => false,
  };
  return [reader, writer];
}

function request(site: Site): [Reader, Writer] {
  const { spec, owner, name } = site.file;
  const handler = spec.request as NonNullable<typeof spec.request>;
  const max = spec.max ?? requestMax;
  let chunks: Uint8Array[] = [];
  let size = 0;
  /** The work for the body that was written last; reads belong to it. */
  let work: { abort: Abort; reads: ReturnType<typeof sourceReader>; reply?: Uint8Array } | undefined;

  const drop = () => {
    work?.abort.abort(new NineError("request abandoned"));
    work?.reads.close();
    work = undefined;
  };
  const begin = () => {
    const body = size === 0 && chunks.length === 0 ? undefined : Buffer.concat(chunks);
    const abort = lazyAbort();
    const mine: NonNullable<typeof work> = { abort, reads: sourceReader(site, "request") };
    work = mine;
    site.guard.run(
      owner,
      "request",
      site.node,
      0,
      () => handler(site.context(abort), body),
      {
        ok(value) {
          if (work !== mine) return;
          if (isIterable(value)) return mine.reads.attach(fromIterable(value, runOf(site)));
          try {
            mine.reply = bytesOf(value);
            mine.reads.attach(fromText(mine.reply));
          } catch (error) {
            mine.reads.end(site.guard.errorOf(owner, "request", site.node, error));
          }
        },
        fail: (error) => mine.reads.end(error),
      },
      abort,
    );
    return mine;
  };
  const reader: Reader = {
    read(offset, count, answer) {
      const mine = work ?? begin();
      if (mine.reply) return answer.ok(slice(mine.reply, offset, count));
      // The work belongs to its reads: a flushed one cancels it.
      answer.abort.onAbort(() => {
        if (work === mine) drop();
      });
      mine.reads.read(offset, count, answer);
    },
    length: () => work?.reply?.length,
    written() {},
    end(cause) {
      work?.reads.end(cause);
    },
    close: drop,
  };
  const writer: Writer = {
    write(data, answer) {
      if (work) {
        drop();
        chunks = [];
        size = 0;
      }
      if (size + data.length > max) return answer.fail(tooLong(name, max));
      chunks.push(Uint8Array.prototype.slice.call(data));
      size += data.length;
      answer.ok(data.length);
    },
    close: (_commit, answer) => answer.ok(),
    pending: () => false,
  };
  return [reader, writer];
}

const isIterable = (value: unknown): value is AsyncIterable<Text> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value && !isThenable(value);
