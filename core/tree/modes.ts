/**
 * The handler kinds as state machines, one per open fid. A reader and a writer make an open file; the protocol above
 * hands in offsets and gets answers through callbacks, so what is at hand is answered without a promise.
 */
import { NineError, Rerror } from "../errors.ts";
import { type Abort, type Answer, contextFor, type Guard, lazyAbort } from "./call.ts";
import { type BuiltFile, type Ending, isEnded, type Life, type Vnode } from "./node.ts";
import type { ReadAnswer, Reader, Site, WriteAnswer, Writer } from "./open.ts";
import type { Principal } from "./principal.ts";
import { blockOnceReader, snapshotReader, streamReader } from "./readers.ts";
import { repliers } from "./repliers.ts";
import { closeWriter, messageWriter } from "./writers.ts";

export interface OpenFile {
  readonly node: Vnode;
  read(offset: number, count: number, answer: ReadAnswer): void;
  /** `offset`: where the client says that the bytes go. Files made of handlers do not ask; other trees may. */
  write(data: Uint8Array, answer: WriteAnswer, offset?: number): void;
  /** Frees everything; `commit` false drops uncommitted bytes. */
  close(commit: boolean, answer: Answer<void>): void;
  length(): number | undefined;
}

export interface OpenOptions {
  read: boolean;
  write: boolean;
  /** OTRUNC: with nothing written, a `commit: close` file commits the empty text. */
  trunc: boolean;
}

const closedReader: Reader = {
  read: (_offset, _count, answer) => answer.fail(new NineError(Rerror.badUse)),
  length: () => undefined,
  written() {},
  end() {},
  close() {},
};

const closedWriter: Writer = {
  write: (_data, answer) => answer.fail(new NineError(Rerror.badUse)),
  close: (_commit, answer) => answer.ok(),
  pending: () => false,
};

/** Opens a file node; rights were checked by the caller. Subscribes at once where the kind blocks. */
export function openFile(node: Vnode, principal: Principal, options: OpenOptions, guard: Guard): OpenFile {
  const file = node.spec as BuiltFile;
  const fid = {};
  const abort = lazyAbort();
  const context = (of: Abort) => contextFor(node, fid, principal, of);
  const site: Site = { node, file, guard, principal, fid, abort, context };
  const [reader, writer] = parts(site, options);
  const ending: Ending = {
    end(cause) {
      abort.abort(cause ?? new NineError("gone"));
      reader.end(cause);
    },
  };
  const homes = [file.owner.opens, ...opensOf(node.life)];
  for (const home of homes) home.add(ending);
  const stopped = (): NineError | undefined =>
    file.owner.stopped ? new NineError(`${file.owner.name}: plugin stopped`) : undefined;
  const dead = (): NineError | undefined =>
    stopped() ?? (isEnded(node.life) ? new NineError(Rerror.removed) : undefined);
  return {
    node,
    read(offset, count, answer) {
      // Who follows an instance reads to the end of it, and the reply to a `kill` can still be read.
      const outlives = isBlocking(file) || (file.spec.rdwr && reader.length() !== undefined);
      const why = outlives ? stopped() : dead();
      if (why) return answer.fail(why);
      reader.read(offset, count, answer);
    },
    write(data, answer) {
      const why = dead();
      if (why) return answer.fail(why);
      writer.write(data, answer);
    },
    close(commit, answer) {
      for (const home of homes) home.delete(ending);
      const why = commit && writer.pending() ? dead() : undefined;
      const done = () => {
        abort.abort(new NineError(Rerror.clunked));
        reader.close();
      };
      if (why) {
        done();
        return answer.fail(why);
      }
      writer.close(commit, {
        ok() {
          done();
          answer.ok();
        },
        fail(error) {
          done();
          answer.fail(error);
        },
      });
    },
    length: () => reader.length(),
  };
}

const isBlocking = (file: BuiltFile): boolean => Boolean(file.spec.stream || file.spec.blockOnce);

function* opensOf(life: Life | undefined): Iterable<Set<Ending>> {
  // The root never ends, so it keeps no set.
  for (let at = life; at?.parent; at = at.parent) yield at.opens;
}

function parts(site: Site, { read, write, trunc }: OpenOptions): [Reader, Writer] {
  const { node } = site;
  const { spec } = site.file;
  if (spec.rdwr || spec.request) {
    const [reader, writer] = repliers(site);
    return [read ? reader : closedReader, write ? writer : closedWriter];
  }
  const reader = read ? readerOf(site) : closedReader;
  if (!spec.write || !(write || trunc)) return [reader, closedWriter];
  const changed = () => {
    node.qid.vers = (node.qid.vers + 1) >>> 0;
    reader.written();
  };
  const writer = spec.commit === "close" ? closeWriter(site, trunc, changed) : messageWriter(site, changed);
  // OTRUNC asks for the right to write, and gives none with OREAD.
  return [reader, write ? writer : { ...writer, write: closedWriter.write }];
}

function readerOf(site: Site): Reader {
  const { spec } = site.file;
  if (spec.read) return snapshotReader(site, spec.read);
  if (spec.stream) return streamReader(site, spec.stream);
  if (spec.blockOnce) return blockOnceReader(site, spec.blockOnce);
  return closedReader;
}
