/** What a model takes, told from its name: generations differ in thinking, sampling and effort, and refuse what they do not know. */

export interface Abilities {
  /** `budget`: `enabled` with a number of tokens. `adaptive`: the model decides. */
  thinking: "none" | "budget" | "adaptive";
  effort: boolean;
  /** `one`: temperature or top_p, not both. */
  sampling: "both" | "one" | "none";
  /** Thinks between calls only when a beta header says so. */
  interleaves: boolean;
  /** Its thoughts are bound to what stood before them, and refused where that changed. */
  bound: boolean;
  /** Tokens of output, where nothing is set. */
  output: number;
}

/** A server of somebody else's, or a name that says nothing: what most of them take. */
const unknown: Abilities = {
  thinking: "budget",
  effort: false,
  sampling: "both",
  interleaves: false,
  bound: false,
  output: 8_192,
};

/** `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`, `anthropic.claude-opus-4-6-v1`: family and 100 × major + minor. */
function generation(model: string): { family: string; version: number } | undefined {
  const found = /claude-(?:([a-z]+)-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model);
  if (!found) return undefined;
  return { family: (found[1] ?? "").toLowerCase(), version: Number(found[2]) * 100 + Number(found[3] ?? 0) };
}

export function abilitiesOf(model: string): Abilities {
  const known = generation(model);
  if (!known) return unknown;
  const { family, version } = known;
  const adaptive = version >= 406;
  return {
    thinking: version < 307 ? "none" : adaptive ? "adaptive" : "budget",
    effort: adaptive || (family === "opus" && version === 405),
    sampling: version >= 407 ? "none" : version >= 401 ? "one" : "both",
    interleaves: version >= 400 && !adaptive,
    bound: version >= (family === "fable" || family === "mythos" ? 501 : 505),
    output: adaptive ? 32_000 : version < 305 ? 4_096 : 8_192,
  };
}
