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
import type { Base } from "./scope.ts";
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
export const openFile = (node: Vnode, principal: Principal, options: OpenOptions, guard: Guard): OpenFile =>
  new Opened(node, principal, options, guard);

/** One record for a fid: as closures its parts took longer to make than a walk, an open and a clunk together. */
class Opened implements OpenFile, Site, Ending {
  readonly node: Vnode;
  readonly file: BuiltFile;
  readonly guard: Guard;
  readonly principal: Principal;
  readonly fid = {};
  readonly #reader: Reader;
  readonly #writer: Writer;
  #abort: Abort | undefined;

  constructor(node: Vnode, principal: Principal, options: OpenOptions, guard: Guard) {
    this.node = node;
    this.file = node.spec as BuiltFile;
    this.guard = guard;
    this.principal = principal;
    const [reader, writer] = parts(this, options);
    this.#reader = reader;
    this.#writer = writer;
    // Only what may block has to be ended from outside.
    if (mayBlock(this.file)) for (const home of homes(this)) home.add(this);
  }

  get abort(): Abort {
    this.#abort ??= lazyAbort();
    return this.#abort;
  }

  context(of: Abort): Base {
    return contextFor(this.node, this.fid, this.principal, of);
  }

  read(offset: number, count: number, answer: ReadAnswer): void {
    const { file } = this;
    // Who follows an instance reads to the end of it, and the reply to a `kill` can still be read.
    const outlives = isBlocking(file) || (file.spec.rdwr && this.#reader.length() !== undefined);
    const why = outlives ? this.#stopped() : this.#dead();
    if (why) answer.fail(why);
    else this.#reader.read(offset, count, answer);
  }

  write(data: Uint8Array, answer: WriteAnswer): void {
    const why = this.#dead();
    if (why) answer.fail(why);
    else this.#writer.write(data, answer);
  }

  close(commit: boolean, answer: Answer<void>): void {
    if (mayBlock(this.file)) for (const home of homes(this)) home.delete(this);
    const why = commit && this.#writer.pending() ? this.#dead() : undefined;
    if (why) {
      this.#free();
      return answer.fail(why);
    }
    if (this.#writer === closedWriter) {
      this.#free();
      return answer.ok();
    }
    this.#writer.close(commit, {
      ok: () => {
        this.#free();
        answer.ok();
      },
      fail: (error) => {
        this.#free();
        answer.fail(error);
      },
    });
  }

  length(): number | undefined {
    return this.#reader.length();
  }

  end(cause?: Error): void {
    this.#abort?.abort(cause ?? "gone");
    this.#reader.end(cause);
  }

  #free(): void {
    this.#abort?.abort(Rerror.clunked);
    this.#reader.close();
  }

  #stopped(): NineError | undefined {
    const { owner } = this.file;
    return owner.stopped ? new NineError(`${owner.name}: plugin stopped`) : undefined;
  }

  #dead(): NineError | undefined {
    return this.#stopped() ?? (isEnded(this.node.life) ? new NineError(Rerror.removed) : undefined);
  }
}

const isBlocking = (file: BuiltFile): boolean => Boolean(file.spec.stream || file.spec.blockOnce);

const mayBlock = (file: BuiltFile): boolean => isBlocking(file) || Boolean(file.spec.request);

/** Where an open file is to be found by what may end it: its plugin, and the instances above it. */
function homes({ file, node }: Opened): Set<Ending>[] {
  const found = [file.owner.opens];
  // The root never ends, so it keeps no set.
  for (let at: Life | undefined = node.life; at?.parent; at = at.parent) found.push(at.opens);
  return found;
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
