/** The agents of all sessions, and the part of a session's life that concerns them. */
import { rm } from "node:fs/promises";
import { messageOf, NineError, type Principal } from "#core";
import { checkName, type Session, type SessionPart } from "#plugins/sessions";
import { close, rest } from "./agent.ts";
import { createAgent, type Wishes, wishKeys } from "./create.ts";
import { family } from "./family.ts";
import { kept, record } from "./lines.ts";
import { pause, resume } from "./loop.ts";
import { type Addressed, type Repairs, restedLine, restoreAgent, reviveAgent, snapshotOf } from "./persist.ts";
import { type Deps, pathOf, publish, type Runtime } from "./runtime.ts";
import { type SavedAgent, SECTION, toSaved } from "./saved.ts";
import { noTotals, sumOf } from "./totals.ts";
import { transcriptOf } from "./transcript.ts";

export interface Roster {
  list(session: Session): Runtime[];
  /** By name or UUID. */
  get(session: Session, nameOrId: string): Runtime | undefined;
  /** By UUIDs: the agent that a principal is, that a hook runs for, that a process belongs to. */
  find(who: Pick<Principal, "session" | "agent">): Runtime | undefined;
  /** `by`: who asks; what an agent makes is its child. */
  create(session: Session, wishes: Wishes, by?: Principal): Promise<Runtime>;
  rename(rt: Runtime, name: string): Promise<void>;
  kill(rt: Runtime): Promise<void>;
  /** As Deps. */
  spent(session: Session): number;
  children(rt: Runtime): Runtime[];
  makers(rt: Runtime): Runtime[];
  readonly part: SessionPart;
}

interface Row {
  agents: Map<string, Runtime>;
  /** Names in use, those of agents being made included. */
  names: Set<string>;
}

/** `end`: the agent's open files get their end. `taken`: the tree has a file of that name. */
export function roster(deps: Deps, end: (rt: Runtime) => void, taken: (name: string) => boolean): Roster {
  const rows = new WeakMap<Session, Row>();
  const row = (session: Session): Row => {
    deps.sessions.ready(session);
    const found = rows.get(session) ?? { agents: new Map(), names: new Set() };
    rows.set(session, found);
    return found;
  };
  const list = (session: Session) => [...row(session).agents.values()];
  const add = (rt: Runtime) => {
    row(rt.session).agents.set(rt.id, rt);
    row(rt.session).names.add(rt.name);
  };
  const remove = (rt: Runtime) => {
    row(rt.session).agents.delete(rt.id);
    row(rt.session).names.delete(rt.name);
    deps.histories.forget(rt);
  };
  const inSession = (session: Session, key: string) =>
    row(session).agents.get(key) ?? list(session).find((rt) => rt.name === key);
  const runtimeOf = ({ session = "", agent = "" }: Pick<Principal, "session" | "agent">): Runtime | undefined => {
    const at = deps.sessions.get(session);
    return at && inSession(at, agent);
  };
  const create = async (session: Session, wishes: Wishes, by?: Principal) => {
    const creator = by?.kind === "agent" ? runtimeOf(by) : undefined;
    if (by?.kind === "agent" && !creator) throw new NineError("agent/new: the agent that asks is gone");
    if (session.dead) throw new NineError("agent/new: session is dead");
    if (wishes.name !== undefined && taken(wishes.name))
      throw new NineError(`agent/new: name ${JSON.stringify(wishes.name)} is reserved`);
    return createAgent(deps, session, wishes, { names: row(session).names, others: list(session), creator, add });
  };
  const { creatorOf, children, makers, spent, emptySessions } = family(deps.sessions, list);
  /** What an agent made goes with it: agents, and sessions where nobody else is. */
  const killMade = async (rt: Runtime): Promise<void> => {
    await Promise.allSettled(children(rt).map(kill));
    await Promise.allSettled(emptySessions(rt).map(deps.sessions.kill));
  };
  /** In a session that was made by another which is gone: the agents that came from there, and it, where that leaves nobody. */
  const killFrom = async (session: Session): Promise<void> => {
    const ids = new Set(list(session).map(({ id }) => id));
    const from = list(session).filter(({ creator }) => creator !== undefined && !ids.has(creator));
    await Promise.allSettled(from.map(kill));
    if (list(session).length === 0) await deps.sessions.kill(session);
  };
  const ending = new WeakMap<Runtime, Promise<void>>();
  const kill = async (rt: Runtime): Promise<void> => {
    if (!ending.has(rt) && !rt.dead) ending.set(rt, bury(rt));
    await ending.get(rt);
  };
  const bury = async (rt: Runtime): Promise<void> => {
    await rest(rt);
    await killMade(rt);
    // In one tick, as with `created`.
    remove(rt);
    const creator = creatorOf(rt);
    if (creator) {
      const gone = sumOf([rt.totals, ...(creator.totals.gone ? [{ ...noTotals(), ...creator.totals.gone }] : [])]);
      void record(creator, { kind: "totals", totals: { ...creator.totals, gone } });
    }
    const written = deps.sessions.journal(rt.session, { agent: rt.id, kind: "killed" });
    await kept(rt, "journal", written);
    await close(rt);
    end(rt);
    await deps.runner.end(rt.session.id, rt.id);
    // a session that ends meanwhile takes its files itself
    for (const suffix of ["chat", "chat.1"])
      if (!rt.session.dead) await rm(deps.sessions.file(rt.session, `${rt.id}.${suffix}`), { force: true });
    publish(rt, "kill", `A kill ${pathOf(rt)}`);
  };
  return {
    list,
    get: inSession,
    find: runtimeOf,
    create,
    async rename(rt, name) {
      if (name === rt.name) return;
      checkName(name, "name");
      const { names } = row(rt.session);
      if (names.has(name) || taken(name)) throw new NineError(`name: ${JSON.stringify(name)} is taken`);
      names.delete(rt.name);
      names.add(name);
      const old = pathOf(rt);
      const written = record(rt, { kind: "set", values: { name } });
      publish(rt, "rename", `A rename ${old} ${pathOf(rt)}`);
      await written;
    },
    kill,
    spent,
    children,
    makers,
    part: {
      name: SECTION,
      keys: wishKeys.filter((key) => key !== "name"),
      trigger: "cwd",
      async create(session, values, by) {
        const rt = await create(session, Object.fromEntries(values), by);
        return `agent.id=${rt.id}\nagent.name=${rt.name}\n`;
      },
      rows: (session) =>
        list(session).map(({ watch, cwd, provider, name, id }) => ({
          ...{ state: watch.get("state"), cwd, name, id },
          ...{ backend: provider.name, model: provider.model },
        })),
      verb(session, verb) {
        for (const rt of list(session)) {
          if (verb === "pause") pause(rt);
          else if (verb === "resume") resume(rt);
          else rt.stale = true;
        }
      },
      async kill(session) {
        await Promise.all(
          list(session).map(async (rt) => {
            await close(rt);
            remove(rt);
            end(rt);
          }),
        );
        await deps.runner.end(session.id);
      },
      async killed(session) {
        const made = deps.sessions.list().filter(({ creator }) => creator?.session === session.id);
        await Promise.all(made.map(killFrom));
      },
      async shutdown(session) {
        await Promise.all(list(session).map(rest));
      },
      snapshot: (session) => list(session).map(snapshotOf),
      mark: (session) => list(session).flatMap((rt) => restedLine(rt) ?? []),
      restore(session, snapshot, journal) {
        const repairs: [Runtime, Repairs][] = [];
        const repaired = (rt: Runtime, results: Repairs) => void repairs.push([rt, results]);
        const restored = [...sorted(snapshot, journal)].map(([found, lines]) => {
          const rt = restoreAgent(deps, session, found, lines, repaired);
          add(rt);
          return { rt, found };
        });
        for (const { rt, found } of restored) reviveAgent(rt, found);
        if (repairs.length > 0) queueMicrotask(() => void keepRepairs(deps, session, repairs));
      },
      transcript: async (session) => (await Promise.all(list(session).map(transcriptOf))).join("\n"),
    },
  };
}

/** Writes down what was repaired, so that it is told once. */
async function keepRepairs(deps: Deps, session: Session, repairs: readonly [Runtime, Repairs][]): Promise<void> {
  for (const [rt, results] of repairs)
    for (const message of results) {
      const line: Addressed = { agent: rt.id, seq: ++rt.seq, kind: "message", message: toSaved(message) };
      void kept(rt, "journal", deps.sessions.journal(session, line));
    }
  await deps.sessions.save(session).catch((error) => deps.log.warn(`not saved: ${messageOf(error)}`));
}

type Found = Partial<SavedAgent> & { id: string };

/** Ids name files. */
const isUuid = (id: unknown): id is string =>
  typeof id === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);

/**
 * The agents of a snapshot and of the journal behind it, each with its lines; those that were killed left out. Throws where
 * one would be lost.
 */
function sorted(snapshot: unknown, journal: readonly unknown[]): Iterable<[Found, Addressed[]]> {
  const found = new Map<string, [Found, Addressed[]]>();
  if (!Array.isArray(snapshot ?? [])) throw new Error(`"${SECTION}" is no list`);
  for (const saved of (snapshot ?? []) as (Found | null)[]) {
    if (!isUuid(saved?.id)) throw new Error(`an entry of "${SECTION}" has no UUID as its id`);
    found.set(saved.id, [saved, []]);
  }
  for (const value of journal) {
    const line = value as Addressed | { kind: "created"; state: Found } | { kind: "killed"; agent: string };
    if (line.kind === "created") found.has(line.state.id) || found.set(line.state.id, [line.state, []]);
    else if (line.kind === "killed") found.delete(line.agent);
    else found.get(line.agent)?.[1].push(line);
  }
  return found.values();
}
