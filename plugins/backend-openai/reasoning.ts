/**
 * `reasoning_details` of a router: thoughts of the model behind it, with signatures, that it wants back unchanged and in
 * order. Pieces of one detail come in several chunks.
 */
import type { ReasoningBlock } from "#plugins/backends";

type Detail = Record<string, unknown> & { type?: unknown; index?: unknown };

/** The name under which blocks are kept: a server that stands for the router takes them too. */
const provider = "openrouter";

const isDetail = (value: unknown): value is Detail => typeof value === "object" && value !== null;

export function reasoningDetails() {
  const details: Detail[] = [];

  function add(piece: Detail): void {
    const last = details.at(-1);
    const same = last !== undefined && last.type === piece.type && last.index === piece.index;
    if (!same || piece.type === "reasoning.encrypted") {
      details.push({ ...piece });
      return;
    }
    for (const [key, value] of Object.entries(piece)) {
      const grows = (key === "text" || key === "summary") && typeof last[key] === "string" && typeof value === "string";
      if (grows) last[key] = `${last[key]}${value}`;
      else if (value !== null && value !== undefined) last[key] = value;
    }
  }

  return {
    /** Takes what a chunk holds, which may be nothing. */
    add(pieces: unknown): void {
      for (const piece of Array.isArray(pieces) ? pieces.filter(isDetail) : []) add(piece);
    },
    /** All of it, made by `model`; undefined where there is none. */
    block(model: string): ReasoningBlock | undefined {
      if (details.length === 0) return undefined;
      const text = details.map(({ text, summary }) => String(text ?? summary ?? "")).join("");
      return { provider, text, data: { model, details } };
    },
  };
}

/** What goes back with a message for `model`. Thoughts of another model are of no use to it, and may be refused. */
export function detailsFor(model: string, blocks: readonly ReasoningBlock[] | undefined): unknown[] {
  return (blocks ?? []).flatMap((block) => {
    const data = block.data as { model?: unknown; details?: unknown } | undefined;
    return block.provider === provider && data?.model === model && Array.isArray(data.details) ? data.details : [];
  });
}
