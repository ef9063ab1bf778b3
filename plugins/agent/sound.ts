/** What a file says of an agent, made sound: older files lack keys, and people edit. */
import { homedir } from "node:os";
import { checkName, type Growing } from "#plugins/sessions";
import type { Prompt, SavedAgent } from "./saved.ts";
import { noTotals, type Sums, sumOf, type Totals } from "./totals.ts";

/** Every key that is missing or of another kind gets its default; keys that are not known stay. Throws where the history is no list. */
export function withDefaults(found: Partial<SavedAgent> & { id: string }): SavedAgent {
  const { creator, depth, bounds, inject, window, counted, ...rest } = found;
  const prompt = promptOf(inject);
  if (!isGrowing(found.messages) && !Array.isArray(found.messages ?? []))
    throw new Error(`"messages" of the agent ${found.id} is no list`);
  return {
    ...rest,
    ...sound(found, {
      agent: "default",
      backend: "",
      model: "",
      cwd: homedir(),
      params: {},
      sandbox: "",
      plan: "",
      feed: "",
      system: "",
      held: false,
      paused: false,
      last: "",
      running: false,
      seq: 0,
      tokens: 0,
    }),
    name: nameOf(found),
    prime: textsOf(found.prime),
    chat: sound(found.chat, { raw: 0, text: 0 }),
    messages: isGrowing(found.messages) ? found.messages : list(found.messages),
    queue: list(found.queue).flatMap((value) => promptOf(value) ?? []),
    spawn: list(found.spawn).filter(isText),
    background: list(found.background).filter((one) => isText(one?.id) && isText(one.title)),
    tools: list(found.tools).filter(isText),
    usage: totalsOf(found.usage),
    ...(prompt ? { inject: prompt } : {}),
    ...(isText(creator)
      ? { creator, ...sound({ depth }, { depth: 1 }), bounds: Array.isArray(bounds) ? bounds.filter(isText) : [""] }
      : {}),
    ...(isText(window?.model) && window.tokens > 0 ? { window: { model: window.model, tokens: window.tokens } } : {}),
    ...(isText(counted?.provider)
      ? { counted: { provider: counted.provider, ...sound(counted, { tokens: 0, estimate: 0 }) } }
      : {}),
  };
}

const isText = (value: unknown): value is string => typeof value === "string";
const list = <T>(value: readonly T[] | undefined): T[] => (Array.isArray(value) ? value : []);
const isGrowing = (value: SavedAgent["messages"] | undefined): value is Growing =>
  typeof value === "object" && value !== null && "epoch" in value && typeof value.from === "function";

/** `defaults`, with what `found` has of the same kind. */
function sound<T extends object>(found: object | undefined | null, defaults: T): T {
  const given = new Map(Object.entries(found ?? {}));
  const pairs = Object.entries(defaults).map(([key, fallback]) => {
    const value = given.get(key);
    return [key, sameKind(value, fallback) ? value : fallback];
  });
  return Object.fromEntries(pairs);
}

const textsOf = (found: object | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(found ?? {}).filter((pair): pair is [string, string] => isText(pair[1])));

function sameKind(value: unknown, as: unknown): boolean {
  if (typeof value !== typeof as || value === null) return false;
  return typeof value === "number" ? value >= 0 && Number.isFinite(value) : Array.isArray(value) === Array.isArray(as);
}

function totalsOf(found: Partial<Totals> | undefined): Totals {
  const { gone } = found ?? {};
  return { ...sound(found, noTotals()), ...(gone ? { gone: sound<Sums>(gone, sumOf([])) } : {}) };
}

function promptOf(found: Partial<Prompt> | undefined): Prompt | undefined {
  if (!isText(found?.id) || !isText(found.text)) return undefined;
  return { ...found, id: found.id, text: found.text, ...sound(found, { from: "", depth: 0 }) };
}

function nameOf({ id, name }: Partial<SavedAgent> & { id: string }): string {
  try {
    return checkName(isText(name) ? name : "", "agent");
  } catch {
    return id.slice(0, 8);
  }
}
