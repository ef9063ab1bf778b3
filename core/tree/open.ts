/** What readers and writers of an open file are, and what they share. */
import type { Abort, Answer, Guard } from "./call.ts";
import type { BuiltFile, Vnode } from "./node.ts";
import type { Principal } from "./principal.ts";
import type { Base } from "./scope.ts";

export interface ReadAnswer extends Answer<Uint8Array> {
  /** Aborts with the request (Tflush, clunk, hang-up). */
  readonly abort: Abort;
  /** Whether data of a source may be taken for it now; if not, `wake` is called once it may. Missing: always. */
  room?(wake: () => void): boolean;
}

export interface WriteAnswer extends Answer<number> {
  readonly abort: Abort;
}

export interface Reader {
  read(offset: number, count: number, answer: ReadAnswer): void;
  /** Bytes of the snapshot, where there is one. */
  length(): number | undefined;
  /** A write took effect on the same fid: the next read gives what is there then. */
  written(): void;
  /** Instance or plugin gone: blocked reads get EOF or the error. */
  end(cause?: Error): void;
  close(): void;
}

export interface Writer {
  write(data: Uint8Array, answer: WriteAnswer): void;
  /** The clunk. `commit` false: the connection ended, nothing may take effect. */
  close(commit: boolean, answer: Answer<void>): void;
  /** Whether a clunk would commit something. */
  pending(): boolean;
}

/** What readers and writers of one open file share. */
export interface Site {
  readonly node: Vnode;
  readonly file: BuiltFile;
  readonly guard: Guard;
  readonly principal: Principal;
  /** WeakMap key of this fid. */
  readonly fid: object;
  /** Lives as long as the open does. */
  readonly abort: Abort;
  context(abort: Abort): Base;
}
