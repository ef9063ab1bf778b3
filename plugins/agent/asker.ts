/** Who asks an agent for something, and in what that is done. */
import { NineError } from "#core";
import { type AgentAt, who } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { runtimeOf } from "./runtime.ts";

export interface Asker {
  /** A principal's name. */
  from: string;
  /** Turns that hooks cause, one behind the other, are counted. */
  depth: number;
  /** The prompt that the agent's creator works on, where that is who asks: a stop of it ends what it asked for. */
  errand?: string | undefined;
}

/** Throws NineError where it is an agent whose turn was stopped, and which may live a moment longer. */
export function askerOf(roster: Roster, c: AgentAt): Asker {
  const { principal } = c;
  const rt = runtimeOf(c.agent);
  const asking = principal.kind === "agent" ? roster.find(principal) : undefined;
  if (asking?.turn?.controller.signal.aborted)
    throw new NineError(`${rt.name}: the turn of ${asking.name} was stopped`);
  const errand = who(principal, rt) === "creator" ? asking?.turn?.item : undefined;
  return { from: principal.name, depth: depthOf(roster, c), ...(errand ? { errand } : {}) };
}

/** A person's is 0; a hook's is one deeper than the turn that it hangs on; an agent's is as deep as that agent's turn. */
export function depthOf(roster: Roster, c: AgentAt): number {
  const { kind, depth } = c.principal;
  if (kind === "user") return 0;
  const from = roster.find(c.principal) ?? runtimeOf(c.agent);
  return (depth ?? from.turn?.depth ?? 0) + (kind === "hook" ? 1 : 0);
}
