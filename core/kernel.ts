/** createKernel: config -> order -> setup -> build -> serve -> close. No global state, no signal handlers. */
import type { Duplex } from "node:stream";
import type { CallResult, Hook, HookKind } from "./hooks.ts";
import type { Logger } from "./log.ts";
import type { ListenAt, Listening, ListenOptions, Use } from "./plugin.ts";
import type { Token } from "./services.ts";
import type { Principal } from "./tree/principal.ts";
import type { Text } from "./tree/spec.ts";

export interface KernelOptions {
  plugins: readonly Use[];
  log?: Logger;
  /** Name of the user that owns the tree. Default: the process's user. */
  user?: string;
  /** Milliseconds that one plugin's setup may take. Default 10,000. */
  setupLimit?: number;
}

export interface FsStat {
  name: string;
  dir: boolean;
  mode: number;
  uid: string;
  gid: string;
  length: number;
  qid: { type: number; vers: number; path: number };
}

/** The tree without a socket, for tests and embedders. Paths start at the root; errors are NineError with the Rerror's text. */
export interface KernelFs {
  /** Reads to the end. A blocking file is read once. */
  read(path: string): Promise<string>;
  /** Opens, writes, closes: the write has taken effect when this resolves. */
  write(path: string, data: Text): Promise<void>;
  /** Writes, then reads the reply on the same fid. */
  rdwr(path: string, body: Text): Promise<string>;
  /** What a blocking file gives, until its end or until the loop is left. */
  stream(path: string): AsyncIterable<string>;
  ls(path: string): Promise<string[]>;
  stat(path: string): Promise<FsStat>;
  remove(path: string): Promise<void>;
  rename(path: string, name: string): Promise<void>;
  /** The same tree seen by somebody else. */
  as(principal: Principal): KernelFs;
}

export interface PluginStatus {
  name: string;
  version: string;
  doc: string;
  state: "off" | "running" | "failed" | "blocked" | "stopped";
  /** Last error: one line. */
  error: string | undefined;
  setupMs: number;
  taps: string[];
  mounts: string[];
  inFlight: string[];
  provides: string[];
  /** Options as the user wrote them; references stay references. */
  config: unknown;
}

export interface Kernel extends AsyncDisposable {
  start(): Promise<void>;
  readonly fs: KernelFs;
  /** Serves one connection over any stream pair. */
  serve(duplex: Duplex, options?: ListenOptions): void;
  listen(at: ListenAt, options?: ListenOptions): Promise<Listening>;
  use<T>(token: Token<T>): T | undefined;
  call<K extends HookKind, A extends readonly unknown[], R>(hook: Hook<K, A, R>, ...args: A): CallResult<K, R>;
  status(): PluginStatus[];
  close(): Promise<void>;
}

export function createKernel(_options: KernelOptions): Kernel {
  throw new Error("being written");
}
