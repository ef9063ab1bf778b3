/** The sockets themselves: one for each agent that asked, and one for each command that runs. */
import { randomBytes } from "node:crypto";
import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Listening, ListenOptions, PluginApi, Principal } from "#core";
import { agentRule, commandRule, type Rule } from "./judge.ts";
import type { Command, CommandSocket, Sockets, Speaker } from "./types.ts";

export interface SocketsOptions {
  /** Folder of the sockets: `{dir}/a/{8 hex}/ollie` for agents, `{dir}/h/{8 hex}/ollie` for commands. */
  dir: string;
  listen: PluginApi["listen"];
  /** Resolves when it can be told who connects, or that it can not. */
  ready: () => Promise<unknown>;
  /** Told each listener's rule before it listens. */
  rule: (options: ListenOptions, rule: Rule) => void;
}

interface Open {
  readonly session: string;
  readonly folder: Promise<string>;
  listening: Listening | undefined;
  ended: boolean;
}

/** Bytes that the path of a socket has beside its folder `dir`: `/a/01234567/` and the name under which it is bound. */
export const pathRest = "/a/01234567/.123456abcd".length;

export function sockets({ dir, listen, ready, rule }: SocketsOptions): Sockets & { close(): Promise<void> } {
  const agents = new Map<string, Open>();

  const serve = async (kind: "a" | "h", principal: Principal, mine: Rule) => {
    await ready();
    const folder = join(dir, kind, randomBytes(4).toString("hex"));
    const options: ListenOptions = { principal };
    rule(options, mine);
    return { folder, listening: await listen({ unix: join(folder, "ollie") }, options) };
  };

  const take = async (folder: string, listening: Listening) => {
    await listening.close();
    try {
      rmdirSync(folder);
    } catch {
      // somebody put a file there: not ours to remove
    }
  };

  const openAgent = ({ session, agent }: Speaker, below: () => Iterable<number>): Open => {
    const principal: Principal = {
      name: agent,
      groups: ["agent", `s:${session}`],
      kind: "agent",
      ...{ agent, session },
    };
    const serving = serve("a", principal, agentRule(below));
    const open: Open = {
      session,
      listening: undefined,
      ended: false,
      folder: serving.then(async ({ folder, listening }) => {
        open.listening = listening;
        if (open.ended) await take(folder, listening);
        return folder;
      }),
    };
    open.folder.catch(() => agents.get(agent) === open && agents.delete(agent));
    agents.set(agent, open);
    return open;
  };

  const endAll = async (wanted: (id: string, open: Open) => boolean) => {
    const gone = [...agents].filter(([id, open]) => wanted(id, open));
    await Promise.all(
      gone.map(async ([id, open]) => {
        agents.delete(id);
        open.ended = true;
        // Where it is still being made, its making ends it.
        if (open.listening) await take(await open.folder, open.listening);
      }),
    );
  };

  return {
    async agent(of, below) {
      const open = agents.get(of.agent) ?? openAgent(of, below);
      return { NAMESPACE: await open.folder, OLLIE_UNAME: of.agent };
    },
    end: (session, agent) => endAll((id, open) => open.session === session && (agent === undefined || id === agent)),
    close: () => endAll(() => true),
    async command({ session, agent, depth }: Command): Promise<CommandSocket> {
      const commands = new Set<number>();
      const principal: Principal = { name: "hook", groups: [], kind: "hook", session, agent, depth };
      const { folder, listening } = await serve("h", principal, commandRule(commands));
      return {
        env: { NAMESPACE: folder },
        admit: (pid) => void (pid !== undefined && commands.add(pid)),
        close: () => take(folder, listening),
      };
    },
  };
}

/** Removes what daemons that were killed have left: sockets on which nobody listens. */
export async function removeDead(dir: string): Promise<void> {
  for (const kind of ["a", "h"])
    for (const name of entries(join(dir, kind))) {
      const folder = join(dir, kind, name);
      if (await isDead(join(folder, "ollie"))) rmSync(folder, { recursive: true, force: true });
    }
}

function entries(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

const isDead = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(path);
    socket
      .once("connect", () => done(false))
      .once("error", ({ code }: NodeJS.ErrnoException) => {
        done(code === "ECONNREFUSED");
      });
    socket.once("connect", () => socket.destroy());
  });
