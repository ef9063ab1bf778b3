/** Who made whom: agents make agents, in their own session and in sessions that they make. */
import type { Session, Sessions } from "#plugins/sessions";
import type { Runtime } from "./runtime.ts";
import { sumOf } from "./totals.ts";

export interface Family {
  /** Undefined: a person made it, or its creator is gone. */
  creatorOf(rt: Runtime): Runtime | undefined;
  /** The agents that it made. */
  children(rt: Runtime): Runtime[];
  /** As Deps. */
  makers(rt: Runtime): Runtime[];
  spent(session: Session): number;
  /** The sessions that it made and nobody is in. */
  emptySessions(rt: Runtime): Session[];
}

/** `list`: the agents of a session. */
export function family(sessions: Sessions, list: (session: Session) => Runtime[]): Family {
  const madeBy = (rt: Runtime): Session[] => sessions.list().filter(({ creator }) => creator?.agent === rt.id);
  const creatorOf = ({ creator, session }: Runtime): Runtime | undefined => {
    const above = sessions.get(session.creator?.session ?? "");
    return [...list(session), ...(above ? list(above) : [])].find(({ id }) => id === creator);
  };
  /** The session that a person made, from which this one comes. */
  const rootOf = (session: Session): Session => {
    const above = session.creator && sessions.get(session.creator.session);
    return above ? rootOf(above) : session;
  };
  return {
    creatorOf,
    children: (rt) => [rt.session, ...madeBy(rt)].flatMap(list).filter(({ creator }) => creator === rt.id),
    makers: (rt) => [...new Set([...list(rt.session), rt, ...[creatorOf(rt) ?? []].flat()])],
    spent(session) {
      const root = rootOf(session);
      const all = sessions.list().filter((one) => one === root || (one.creator && rootOf(one) === root));
      return sumOf(all.flatMap(list).map(({ totals }) => totals)).cost;
    },
    emptySessions: (rt) => madeBy(rt).filter((session) => list(session).length === 0),
  };
}
