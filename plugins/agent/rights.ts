/** Who may use an agent's files, beyond mode bits. The user may all; hooks act for the user. */
import type { Base, Principal } from "#core";
import type { Session } from "#plugins/sessions";
import { type Runtime, runtimeOf } from "./runtime.ts";
import type { Agent } from "./types.ts";

/** What handlers below session/{name}/agent get. */
export type SessionAt = Base & { readonly session: Session };
/** What handlers of an agent's files get. */
export type AgentAt = SessionAt & { readonly agent: Agent };

/**
 * `self`: the agent; `creator`: the agent that made it or its session; `kin`: agents of its session, and of those that it
 * made; `other`: all other agents.
 */
export type Who = "user" | "self" | "creator" | "kin" | "other";

export function who(principal: Principal, rt: Runtime): Who {
  if (principal.kind !== "agent") return "user";
  if (principal.agent === rt.id) return "self";
  const { agent, session = "" } = principal;
  if (agent !== undefined && (agent === rt.creator || agent === rt.session.creator?.agent)) return "creator";
  if (session === rt.session.id) return "kin";
  return rt.deps.sessions.get(session)?.creator?.agent === rt.id ? "kin" : "other";
}

type Access = "" | "r" | "w" | "rw";

/** Whether `principal` may know what the agent does: a person, the agent, and its kin. */
export const isKin = (principal: Principal, agent: Agent): boolean => who(principal, runtimeOf(agent)) !== "other";

/** Access of agents; missing: self `r`, kin and others none. A creator is kin at least. */
interface Table {
  self?: Access;
  kin?: Access;
  creator?: Access;
  other?: Access;
}

interface Rights {
  deny: (principal: Principal, op: "r" | "w", c: AgentAt) => string | undefined;
  rights: string;
}

/** `deny` of a file, and what `help` says of it. */
export function rights(file: string, { self = "r", kin = "", creator = kin, other = "" }: Table = {}): Rights {
  const table: Record<Exclude<Who, "user">, Access> = { self, kin, creator, other };
  const words = { r: "read", w: "write" };
  return {
    deny(principal, op, c) {
      const is = who(principal, runtimeOf(c.agent));
      if (is === "user" || table[is].includes(op)) return undefined;
      return `${file}: permission denied: ${is === "self" ? "the agent itself" : "this agent"} may not ${words[op]} it`;
    },
    rights: Object.entries(table)
      .map(
        ([is, access]) =>
          `${is} ${access === "" ? "nothing" : [...access].map((op) => words[op as "r" | "w"]).join(" and ")}`,
      )
      .join(", "),
  };
}
