/**
 * Scopes: typed mount points. `Root` is the tree's root; `Root.instances<Session>()("session/{name}", "session")`
 * is "below each session", and handlers mounted there get `c.session`.
 */
import type { Principal } from "./principal.ts";

/** What every handler gets. Scopes add the instance of each level (`c.session`, `c.agent`). */
export interface Base {
  /** Stands for this open fid (or this one-off call): a WeakMap key for what belongs to it. */
  readonly fid: object;
  readonly principal: Principal;
  /** Path as the caller walked it, from the root: `/session/s1/ctl`. */
  readonly path: string;
  /**
   * Aborts with what the call belongs to. `read`, `write`, `rdwr`, `request`: Tflush, clunk, hang-up or plugin stop.
   * `stream`, `blockOnce`: clunk, hang-up or plugin stop, never Tflush.
   */
  readonly signal: AbortSignal;
}

declare const context: unique symbol;

/**
 * A place where a plugin may mount nodes. `C` is what handlers there get, `P` what handlers of the directory around it
 * get, `V` the instances.
 */
export interface Scope<out C, out P = unknown, out V = unknown> {
  readonly [context]?: [C, P, V];
  readonly kind: "scope";
  /** Spec path: `/`, `/session/{name}`. */
  readonly path: string;
  /** The key under which handlers find this level's instance; empty for Root. */
  readonly key: string;
  readonly parent: Scope<unknown> | undefined;
  /** Declares a scope below this one: `instances<V>()(path, key)`. */
  instances<N extends object>(): <K extends string>(path: string, key: K) => Scope<C & { readonly [Q in K]: N }, C, N>;
}

function makeScope<C, P, V>(path: string, key: string, parent: Scope<unknown> | undefined): Scope<C, P, V> {
  const scope: Scope<C, P, V> = {
    kind: "scope",
    path,
    key,
    parent,
    instances:
      <N extends object>() =>
      <K extends string>(below: string, childKey: K) =>
        makeScope<C & { readonly [Q in K]: N }, C, N>(`${path === "/" ? "" : path}/${below}`, childKey, scope),
  };
  return scope;
}

/** The root of the tree. */
export const Root: Scope<Base> = makeScope<Base, unknown, unknown>("/", "", undefined);

/** Number of names in a scope's path: 0 for Root. */
export const depthOf = (scope: Scope<unknown>): number => (scope.path === "/" ? 0 : scope.path.split("/").length - 1);
