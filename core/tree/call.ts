/**
 * The guard: the one place that runs plugin handlers of the tree. Sync throw, rejection, non-Error, wrong return and
 * time-out become an error for the caller; nothing a handler does goes further.
 */
import { messageOf, NineError } from "../errors.ts";
import { Few } from "../few.ts";
import { isThenable } from "../thenable.ts";
import type { Ending, Owner, Vnode } from "./node.ts";
import { pathOf } from "./node.ts";
import type { Principal } from "./principal.ts";
import type { Base } from "./scope.ts";

/** An AbortSignal that is made only when a handler asks for it (making one costs more than a whole read). */
export interface Abort {
  readonly signal: AbortSignal;
  readonly aborted: boolean;
  /** A text becomes a NineError, if somebody asked for the signal: making an error costs more than a whole read. */
  abort(reason?: unknown): void;
  /** Runs at abort. */
  onAbort(fn: () => void): void;
}

class LazyAbort implements Abort {
  aborted = false;
  #controller: AbortController | undefined;
  #reason: unknown;
  #waiting: Few<() => void> | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.aborted) this.#controller.abort(reasonOf(this.#reason));
    return this.#controller.signal;
  }

  abort(reason: unknown = "interrupted"): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reasonOf(reason));
    this.#waiting?.empty((fn) => fn());
  }

  onAbort(fn: () => void): void {
    if (this.aborted) return fn();
    this.#waiting ??= new Few();
    this.#waiting.add(fn);
  }
}

const reasonOf = (reason: unknown): unknown => (typeof reason === "string" ? new NineError(reason) : reason);

export const lazyAbort = (): Abort => new LazyAbort();

class Context implements Base {
  readonly fid: object;
  readonly principal: Principal;
  readonly #node: Vnode;
  #abort: Abort | undefined;

  constructor(node: Vnode, fid: object, principal: Principal, abort?: Abort) {
    this.fid = fid;
    this.principal = principal;
    this.#node = node;
    this.#abort = abort;
    Object.assign(this, node.values);
  }

  get path(): string {
    return pathOf(this.#node);
  }

  get signal(): AbortSignal {
    this.#abort ??= lazyAbort();
    return this.#abort.signal;
  }
}

/** What a handler is called with: the base and the instances on the way to `node`. Without `abort` nothing aborts its signal. */
export const contextFor = (node: Vnode, fid: object, principal: Principal, abort?: Abort): Base =>
  new Context(node, fid, principal, abort);

/** Where guarded errors go, and how plugin code is attributed. */
export interface GuardHost {
  /** Milliseconds for read, write and rdwr handlers; blocking kinds and requests have no limit. */
  readonly handlerLimit: number;
  report(plugin: string, path: string, error: unknown): void;
  runAs<T>(plugin: string, fn: () => T): T;
}

/** Exactly one of the two is called, once. */
export interface Answer<T> {
  ok(value: T): void;
  fail(error: NineError): void;
}

export interface Guard {
  readonly host: GuardHost;
  /**
   * Runs `fn` as `owner`. A synchronous result is answered before this returns. `limit` in ms; 0: none. `abort` is that of
   * the call's signal: it aborts when the limit is over and when the plugin stops.
   */
  run<T>(
    owner: Owner,
    verb: string,
    node: Vnode,
    limit: number,
    fn: () => T | PromiseLike<T>,
    answer: Answer<T>,
    abort?: Abort,
  ): void;
  /** What anything thrown by a handler says to the client; unknown errors are reported. */
  errorOf(owner: Owner, verb: string, node: Vnode, error: unknown): NineError;
}

/** A call that has not settled: what stops its plugin ends it. */
interface Call extends Ending {
  /** As `performance.now`, which no setting of the clock moves. */
  deadline: number;
  expire(): void;
}

export function guard(host: GuardHost): Guard {
  // One sweep for all calls in flight; it exists only while there are any.
  const late = new Set<Call>();
  let sweep: NodeJS.Timeout | undefined;
  const watch = (entry: Call) => {
    late.add(entry);
    sweep ??= setInterval(
      () => {
        const now = performance.now();
        for (const one of late) if (one.deadline <= now) one.expire();
        if (late.size > 0) return;
        clearInterval(sweep);
        sweep = undefined;
      },
      Math.min(1000, host.handlerLimit),
    ).unref();
  };
  const errorOf: Guard["errorOf"] = (owner, verb, node, error) => {
    if (error instanceof NineError) return error;
    host.report(owner.name, `${verb} ${node.spec.path}`, error);
    return new NineError(`${owner.name}: ${verb} ${pathForSure(node)}: ${messageOf(error)}`);
  };
  /** Apart from `run`, so that a synchronous call pays for none of these closures. */
  function later<T>(
    owner: Owner,
    verb: string,
    node: Vnode,
    limit: number,
    result: PromiseLike<T>,
    answer: Answer<T>,
    abort: Abort | undefined,
  ): void {
    let settled = false;
    const once = (act: () => void) => {
      if (settled) return;
      settled = true;
      late.delete(call);
      owner.opens.delete(call);
      act();
    };
    const giveUp = (error: NineError) =>
      once(() => {
        answer.fail(error);
        abort?.abort(error);
      });
    const call: Call = {
      deadline: performance.now() + limit,
      expire: () => giveUp(errorOf(owner, verb, node, new Error(`no answer in ${limit} ms`))),
      end: (cause) => giveUp(cause instanceof NineError ? cause : new NineError("interrupted")),
    };
    owner.opens.add(call);
    if (limit > 0) watch(call);
    // A thenable of foreign make may throw; a promise comes back as it is.
    Promise.resolve(result).then(
      (value) => once(() => answer.ok(value)),
      (error) => once(() => answer.fail(errorOf(owner, verb, node, error))),
    );
  }
  return {
    host,
    errorOf,
    run<T>(
      owner: Owner,
      verb: string,
      node: Vnode,
      limit: number,
      fn: () => T | PromiseLike<T>,
      answer: Answer<T>,
      abort?: Abort,
    ) {
      let result: T | PromiseLike<T>;
      try {
        result = host.runAs(owner.name, fn);
      } catch (error) {
        return answer.fail(errorOf(owner, verb, node, error));
      }
      if (isThenable(result)) later(owner, verb, node, limit, result, answer, abort);
      else answer.ok(result as T);
    },
  };
}

/** A path for messages: naming an instance is plugin code, and it may be what has failed. */
export function pathForSure(node: Vnode): string {
  try {
    return pathOf(node);
  } catch {
    return node.spec.path;
  }
}
