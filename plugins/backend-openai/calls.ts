/** Puts tool calls together from fragments. Servers differ in what they send: ids decide, then indexes, then order. */
import { randomUUID } from "node:crypto";

/** A fragment as it stands on the wire: nothing of it can be relied on. */
export interface CallFragment {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
  /** Marks of Gemini behind a compatible endpoint (thought signatures), which it wants back. */
  extra_content?: unknown;
}

export interface AssembledCall {
  id: string;
  name: string;
  args: string;
  extra?: Record<string, unknown>;
  /** It was the last to grow. */
  last: boolean;
}

interface Slot {
  index: number | undefined;
  id: string | undefined;
  name: string;
  args: string;
  extra: unknown;
}

export interface CallAssembler {
  add(fragment: CallFragment): void;
  /** In the order of their indexes where all have one, else as they began. Calls that never got a name are left out. */
  calls(): AssembledCall[];
}

export function callAssembler(): CallAssembler {
  const slots: Slot[] = [];
  let last: Slot | undefined;

  function slotFor(index: number | undefined, id: string | undefined, name: string): Slot {
    const sameIndex = slots.findLast((slot) => slot.index === index);
    if (id !== undefined) {
      const agrees = (slot: Slot) => index === undefined || slot.index === undefined || slot.index === index;
      const same = slots.find((slot) => slot.id === id && agrees(slot));
      if (same) return same;
      // A server that mints an id per fragment repeats no name; one that numbers all calls 0 names each.
      if (index !== undefined && sameIndex && (sameIndex.id === undefined || name === "")) return sameIndex;
    } else if (index !== undefined) {
      if (sameIndex) return sameIndex;
    } else if (name === "" && last) return last;
    const slot: Slot = { index, id, name: "", args: "", extra: undefined };
    slots.push(slot);
    return slot;
  }

  return {
    add(fragment) {
      const index = typeof fragment.index === "number" ? fragment.index : undefined;
      const id = typeof fragment.id === "string" && fragment.id !== "" ? fragment.id : undefined;
      const name = typeof fragment.function?.name === "string" ? fragment.function.name : "";
      const slot = slotFor(index, id, name);
      slot.id ??= id;
      if (name !== "") slot.name = name;
      slot.args += argsText(fragment.function?.arguments);
      slot.extra = fragment.extra_content ?? slot.extra;
      last = slot;
    },
    calls() {
      const named = slots.filter((slot) => slot.name !== "");
      const numbered = named.every((slot) => slot.index !== undefined);
      if (numbered) named.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
      const taken = new Set<string>();
      return named.map((slot) => {
        const id = slot.id !== undefined && !taken.has(slot.id) ? slot.id : `call_${randomUUID()}`;
        taken.add(id);
        return {
          id,
          name: slot.name,
          args: slot.args,
          ...(slot.extra === undefined ? {} : { extra: { extra_content: slot.extra } }),
          last: slot === last,
        };
      });
    },
  };
}

/** Some servers send the object itself; null is no text. */
function argsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
