/** How deep a prompt is: turns that hooks cause, one behind the other, are counted. */
import type { AgentAt } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { runtimeOf } from "./runtime.ts";

/** A person's is 0; a hook's is one deeper than the turn that it hangs on; an agent's is as deep as that agent's turn. */
export function depthOf(roster: Roster, c: AgentAt): number {
  const { kind, depth } = c.principal;
  if (kind === "user") return 0;
  const from = roster.find(c.principal) ?? runtimeOf(c.agent);
  return (depth ?? from.turn?.depth ?? 0) + (kind === "hook" ? 1 : 0);
}
