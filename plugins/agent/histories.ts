/**
 * Which histories are in memory. One is read from the disk when it is needed. At rest it stays, until others were used
 * since that need the room; what the disk does not have is written there first.
 */
import { messageOf } from "#core";
import type { Message } from "#plugins/backends";
import type { Sessions } from "#plugins/sessions";
import { history, loader, settle } from "./history.ts";
import { interrupted } from "./lines.ts";
import { forgetPrefix } from "./prefix.ts";
import type { Runtime } from "./runtime.ts";
import { fromSaved, SECTION } from "./saved.ts";

export interface Histories {
  /** Resolves when the agent's history is in memory; there it stays while something runs. Rejects where it is damaged. */
  load(rt: Runtime): Promise<void>;
  /** `use` gets all messages, within one tick. */
  read<T>(rt: Runtime, use: (messages: readonly Message[]) => T): Promise<T>;
  /** The agent's history was used and may rest now: others make room for it. */
  used(rt: Runtime): void;
  /** The agent is gone. */
  forget(rt: Runtime): void;
}

/** `max`: bytes that may stay in memory, beside the history that was used last and those of agents that run. */
export function histories(sessions: Sessions, max: number): Histories {
  /** Those in memory, the one used longest ago first. */
  const present = new Set<Runtime>();
  const loading = new Map<Runtime, Promise<void>>();

  const isSaved = ({ session, id, history: { epoch, length } }: Runtime): boolean =>
    sessions.kept(session, SECTION, id, epoch) === length;
  const rests = (rt: Runtime): boolean => !rt.running && !loading.has(rt) && rt.history.unsettled.length === 0;

  /** Takes it out of memory, unless the disk refuses or it is used again meanwhile. */
  const leave = async (rt: Runtime): Promise<void> => {
    present.delete(rt);
    try {
      if (!isSaved(rt)) await sessions.snapshot(rt.session);
    } catch (error) {
      rt.deps.log.warn("a history stays in memory", { error: messageOf(error) });
    }
    if (rt.dead || present.has(rt)) return;
    if (!rests(rt) || !isSaved(rt)) return void present.add(rt);
    rt.history.leave();
    forgetPrefix(rt);
  };

  const used = (rt: Runtime): void => {
    present.delete(rt);
    present.add(rt);
    let bytes = 0;
    for (const one of present) bytes += bytesOf(one);
    for (const one of [...present].slice(0, -1)) {
      if (bytes <= max) return;
      if (!rests(one)) continue;
      bytes -= bytesOf(one);
      void leave(one);
    }
  };

  const fetch = async (rt: Runtime): Promise<void> => {
    const { epoch, away } = rt.history;
    const found = history(() => 0);
    const to = loader(found, interrupted);
    let wanted = away;
    for await (const items of sessions.items(rt.session, SECTION, rt.id)) {
      // the file may have more, which has never left the memory
      const some = items.slice(0, wanted);
      wanted -= some.length;
      for (const message of some.flatMap((item) => fromSaved(item) ?? [])) to.add(message);
    }
    settle(found, interrupted);
    // it may have been cleared meanwhile
    if (rt.history.epoch === epoch) rt.history.recalled(found.messages);
  };

  const load = async (rt: Runtime): Promise<void> => {
    if (rt.history.away === 0) return;
    const begun = loading.get(rt) ?? fetch(rt).finally(() => loading.delete(rt));
    loading.set(rt, begun);
    await begun;
    // It may have been killed meanwhile.
    if (!rt.dead) used(rt);
  };

  return {
    load,
    async read(rt, use) {
      while (rt.history.away > 0) await load(rt);
      return use(rt.history.messages);
    },
    used,
    forget: (rt) => void present.delete(rt),
  };
}

/** About: the estimate takes four bytes for a token. */
const bytesOf = (rt: Runtime): number => rt.history.held * 4;
