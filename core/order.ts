/** In which order plugins are set up: topological over provides, needs, wants and after; stable in config order. */
import { OllieError } from "./errors.ts";
import type { Use } from "./plugin.ts";
import type { Token } from "./services.ts";
import type { Scope } from "./tree/scope.ts";

type Key = Token<unknown> | Scope<unknown>;

export interface Order {
  order: Use[];
  /** Plugins that can not run, and why. */
  blocked: Map<Use, string>;
}

/** Throws OllieError: E_CONFLICT for a name twice, E_PROVIDED for a provider twice, E_CYCLE. */
export function orderPlugins(uses: readonly Use[], given: readonly Key[] = []): Order {
  const byName = new Map<string, Use>();
  const provider = new Map<Key, Use>();
  for (const use of uses) {
    const { name, provides = [] } = use.def;
    if (byName.has(name)) throw new OllieError("E_CONFLICT", `plugin ${name} stands twice in the config`);
    byName.set(name, use);
    for (const key of provides) {
      const old = provider.get(key);
      if (old) throw new OllieError("E_PROVIDED", `${name}: ${titleOf(key)} is already provided by ${old.def.name}`);
      provider.set(key, use);
    }
  }
  const blocked = findBlocked(uses, provider, given);
  const running = uses.filter((use) => !blocked.has(use));
  const providersOf = (use: Use, keys: readonly Key[] = []): Use[] =>
    keys.map((key) => provider.get(key)).filter((one): one is Use => !!one && one !== use && !blocked.has(one));
  const hard = (use: Use): Use[] => [
    ...providersOf(use, use.def.needs),
    ...(use.def.after ?? []).map((name) => byName.get(name)).filter((one): one is Use => !!one && !blocked.has(one)),
  ];
  const reaches = (from: Use, to: Use, seen = new Set<Use>()): boolean =>
    from === to || (!seen.has(from) && !!seen.add(from) && hard(from).some((next) => reaches(next, to, seen)));
  const order: Use[] = [];
  const done = new Set<Use>();
  const path: Use[] = [];
  const visit = (use: Use) => {
    if (done.has(use)) return;
    const at = path.indexOf(use);
    if (at >= 0) {
      const names = [...path.slice(at), use].map((one) => one.def.name);
      throw new OllieError("E_CYCLE", `plugin cycle: ${names.join(" -> ")}`);
    }
    path.push(use);
    for (const first of hard(use)) visit(first);
    // A wish gives way to a need: a plugin that needs this one (or one on the way) comes after it all the same.
    for (const first of providersOf(use, use.def.wants)) if (!path.some((one) => reaches(first, one))) visit(first);
    path.pop();
    done.add(use);
    order.push(use);
  };
  for (const use of running) visit(use);
  return { order, blocked };
}

/** Those that need what nobody provides, and those that need something of a blocked one. */
function findBlocked(uses: readonly Use[], provider: Map<Key, Use>, given: readonly Key[]): Map<Use, string> {
  const blocked = new Map<Use, string>();
  for (let changed = true; changed; ) {
    changed = false;
    for (const use of uses) {
      if (blocked.has(use)) continue;
      const why = whyBlocked(use, provider, given, blocked);
      if (why === undefined) continue;
      blocked.set(use, why);
      changed = true;
    }
  }
  return blocked;
}

function whyBlocked(
  use: Use,
  provider: Map<Key, Use>,
  given: readonly Key[],
  blocked: Map<Use, string>,
): string | undefined {
  const { name, needs = [] } = use.def;
  for (const key of needs) {
    if (given.includes(key)) continue;
    const from = provider.get(key);
    if (!from) return `${name}: needs ${titleOf(key)}, which no enabled plugin provides`;
    if (blocked.has(from)) return `${name}: needs ${titleOf(key)} of ${from.def.name}, which is blocked`;
  }
  return undefined;
}

export const titleOf = (key: Key): string => (key.kind === "token" ? `service ${key.name}` : `scope ${key.path}`);
