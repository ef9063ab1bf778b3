/** A toolsrv per session: started when first needed, started again when it died, ended when long unused. */
import { randomUUID } from "node:crypto";
import { messageOf } from "#core";
import type { Sockets } from "#plugins/identity";
import { callOver, notStarted } from "./call.ts";
import { type Child, startChild } from "./child.ts";
import { type Confined, confine } from "./confine.ts";
import { type Confinement, firstNote, type Isolation, unsandboxed } from "./isolation.ts";
import { knownLibc, lostWithout } from "./libc.ts";
import type { Processes } from "./processes.ts";
import type { TmpDirs } from "./tmp.ts";
import type { ToolRequest, ToolResult, ToolRunner } from "./types.ts";

export interface SupervisorOptions {
  entry: string;
  toolDirs: () => string[];
  tmp: TmpDirs;
  processes: Processes;
  /** Where tools reach the daemon as their agent; without it they are led to the main socket. */
  sockets?: Sockets | undefined;
  /** What calls are confined to; without it nothing is. */
  isolation?: Isolation | undefined;
  /** Told what is added to a session's first result about its sandbox. */
  onNote?: (request: ToolRequest, note: string) => void;
  /** Milliseconds without a call and without processes after which a toolsrv ends. */
  idle: number;
  startLimit: number;
}

/** Tool servers that a session keeps at once, where it needs several. */
const most = 8;

interface Running {
  agent: string;
  stop: AbortController;
  /** Settles when a process that is being started in the background is known. */
  starting?: Promise<unknown>;
}

interface Slot {
  readonly session: string;
  /**
   * By what they are confined to from outside; "" where that is nothing: a call that may run outside gets a server of its
   * own beside one in bwrap. The longest unused comes first.
   */
  readonly children: Map<string, Promise<Child>>;
  /** What its last call was confined to. */
  last: Confinement | undefined;
  /** What each agent's calls start from, once that is there: where it works, and the tool server that has it. */
  readonly warm: Map<string, { place: string; child: Promise<Child> }>;
  /** Pids of its toolsrv, and of one that is just ending. */
  readonly pids: Set<number>;
  calls: Set<Running>;
  idle: NodeJS.Timeout | undefined;
  told: boolean;
}

/** An agent, and where its calls run. */
type Place = Parameters<ToolRunner["warm"]>[0];

export interface Supervisor extends ToolRunner {
  /** Ends every toolsrv. */
  close(): Promise<void>;
}

export function supervisor(options: SupervisorOptions): Supervisor {
  const slots = new Map<string, Slot>();
  const { processes } = options;

  const slotOf = (session: string): Slot => {
    const known = slots.get(session);
    if (known) return known;
    const slot: Slot = {
      ...{ session, last: undefined, idle: undefined, told: false },
      ...{ children: new Map<string, Promise<Child>>(), pids: new Set<number>(), calls: new Set<Running>() },
      warm: new Map(),
    };
    slots.set(session, slot);
    return slot;
  };

  /** The running toolsrv of a slot, or a new one. One that died is forgotten, so that the next call starts another. */
  const childOf = (slot: Slot, confined: Confined | undefined): Promise<Child> => {
    const { around = [] } = confined ?? {};
    const key = keyOf(confined);
    const known = slot.children.get(key);
    if (known) {
      slot.children.delete(key);
      slot.children.set(key, known);
      return known;
    }
    const { entry, startLimit } = options;
    const starting = startChild({ entry, startLimit, toolDirs: options.toolDirs(), around });
    const forget = () => {
      if (slot.children.get(key) === starting) slot.children.delete(key);
    };
    slot.children.set(key, starting);
    void trim(slot);
    starting.then((child) => child.client.ended.then(forget), forget);
    starting.then(
      ({ pid, gone }) => {
        slot.pids.add(pid);
        gone.then(() => slot.pids.delete(pid));
      },
      () => {},
    );
    return starting;
  };

  const closeChildren = async (slot: Slot): Promise<void> => {
    clearTimeout(slot.idle);
    const closing = [...slot.children.values()];
    slot.children.clear();
    await Promise.all(closing.map((starting) => starting.then((child) => child.close()).catch(() => {})));
  };

  /** Ends what was not used for longest, unless something runs in it. */
  const trim = async (slot: Slot): Promise<void> => {
    for (const [key, starting] of [...slot.children].slice(0, -1)) {
      if (slot.children.size <= most) return;
      const child = await starting.catch(() => undefined);
      if (!child || (await isBusy(child)) || slot.children.get(key) !== starting) continue;
      slot.children.delete(key);
      await child.close();
    }
  };

  const childrenOf = async (slot: Slot | undefined): Promise<Child[]> => {
    const settled = await Promise.allSettled(slot?.children.values() ?? []);
    return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  };

  const scheduleIdle = (slot: Slot) => {
    clearTimeout(slot.idle);
    slot.idle = setTimeout(async () => {
      const children = await childrenOf(slot);
      if (children.length === 0) return;
      const remain = await Promise.all(children.map(isBusy));
      const busy = remain.includes(true) || slot.calls.size > 0 || processes.running(slot.session) > 0;
      if (busy) scheduleIdle(slot);
      else await closeChildren(slot);
    }, options.idle).unref();
  };

  const run = async (slot: Slot, request: ToolRequest, on: Parameters<ToolRunner["call"]>[1]): Promise<ToolResult> => {
    if (on.signal.aborted) return notStarted;
    try {
      const { tmp, socket, confined } = await ready(slot, request);
      slot.last = confined?.confinement;
      const body = {
        ...request,
        ...{ id: randomUUID(), sessionTmp: tmp.session, agentTmp: tmp.agent, socket },
        ...{ env: { ...confined?.env, ...request.env }, rules: confined?.rules, wrap: confined?.wrap },
      };
      for (let attempt = 0; attempt < 3; attempt++) {
        const child = await childOf(slot, confined);
        const result = await (request.background ? processes.start(child, body) : callOver(child, body, on));
        if (result) return result;
      }
      return { status: "refused", content: "toolsrv ended three times before it took the call" };
    } catch (error) {
      return { status: "refused", content: messageOf(error) };
    }
  };

  /** What a call in `place` would need: its temporary folders, its socket, what it is confined to. */
  const ready = async (slot: Slot, place: Place) => {
    const tmp = options.tmp.of(place.session, place.agent);
    const socket = await options.sockets?.agent(place, () => slot.pids);
    return { tmp, socket, confined: await confine(options, place, tmp.session, socket?.NAMESPACE) };
  };

  const warm = async (slot: Slot, agent: Place): Promise<void> => {
    const place = JSON.stringify([agent.cwd, agent.profiles]);
    const known = slot.warm.get(agent.agent);
    if (known?.place === place && [...slot.children.values()].includes(known.child)) return;
    const { confined } = await ready(slot, agent);
    // None is ended for one that may not be needed.
    if (slot.children.size >= most && !slot.children.has(keyOf(confined))) return;
    const child = childOf(slot, confined);
    await (await child).client.rdwr("ctl", `warm ${JSON.stringify(confined?.rules ?? null)}`);
    slot.warm.set(agent.agent, { place, child });
  };

  return {
    async call(request, on) {
      const slot = slotOf(request.session);
      clearTimeout(slot.idle);
      const mine: Running = { agent: request.agent, stop: new AbortController() };
      slot.calls.add(mine);
      const running = run(slot, request, { ...on, signal: AbortSignal.any([on.signal, mine.stop.signal]) });
      if (request.background) mine.starting = running;
      const result = await running;
      slot.calls.delete(mine);
      if (slot.calls.size === 0) scheduleIdle(slot);
      const note = slot.last ? firstNote(slot.last) : options.isolation ? undefined : unsandboxed;
      if (slot.told || note === undefined) return result;
      slot.told = true;
      options.onNote?.(request, note);
      return { ...result, content: `${result.content}\n${note}` };
    },
    warm(place) {
      const slot = slotOf(place.session);
      void warm(slot, place).then(
        () => slot.calls.size === 0 && scheduleIdle(slot),
        () => {}, // the first call tells why
      );
    },
    async end(session, agent) {
      const slot = slots.get(session);
      for (const call of slot?.calls ?? []) if (agent === undefined || call.agent === agent) call.stop.abort();
      if (agent !== undefined) {
        slot?.warm.delete(agent);
        await Promise.all([...(slot?.calls ?? [])].map((call) => call.agent === agent && call.starting));
        const children = await childrenOf(slot);
        processes.forget(session, agent);
        await Promise.all(children.map((child) => child.client.rdwr("ctl", `end ${agent}`).catch(() => {})));
      } else if (slot) {
        slots.delete(session);
        await closeChildren(slot);
        processes.forget(session);
      }
      await options.sockets?.end(session, agent);
      options.tmp.remove(session, agent);
    },
    async sandbox(session) {
      const lines = await options.isolation?.describe(slots.get(session)?.last);
      return `${lines ?? "sandbox=off\nprovider=off\nenforced=nothing: tools run with your rights\n"}${nativeLine()}`;
    },
    processes: processes.list,
    news: processes.news,
    onProcess: processes.onChange,
    async close() {
      await Promise.all([...slots.values()].map(closeChildren));
      slots.clear();
    },
  };
}

/** Said until koffi was looked for, by the first tool. */
function nativeLine(): string {
  const native = knownLibc();
  if (!native) return "native=not known before the first tool runs\n";
  return native.libc ? "native=koffi\n" : `native=off (${native.missing}): ${lostWithout}\n`;
}

/** Tells the tool servers of a session apart. */
const keyOf = ({ around = [], bound = "" }: Partial<Confined> = {}): string => [...around, bound].join("\0");

/** Whether calls or processes run there, or ended calls have left some. */
async function isBusy(child: Child): Promise<boolean> {
  const host = await child.client.read("host").catch(() => Buffer.from(""));
  return /^(calls|processes|left)=[1-9]/m.test(host.toString("utf8"));
}
