/** The built daemon, a person who uses it, and what an attacker tries from inside a tool. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { packageRoot } from "#core";
import { built } from "../../dist.ts";
import { bundle } from "../toolsrv/bundle.ts";
import { groundFor } from "../toolsrv/ground.ts";

export interface Person {
  name: string;
  uid: number;
}

/** Root has other ways than a normal user: where the tests run as root, both are tried. */
export const people: Person[] =
  process.getuid?.() === 0
    ? [
        { name: "root", uid: 0 },
        { name: "nobody", uid: 65534 },
      ]
    : [{ name: userInfo().username, uid: process.getuid?.() ?? -1 }];

const other = people.find(({ uid }) => uid !== process.getuid?.());
/** Where the other person can run programs; a string says why nowhere. */
const ground = other && groundFor(other.uid);
const cannot = typeof ground === "string";
afterAll(() => {
  if (typeof ground === "object") ground.remove();
});

/** Whoever can be tried here: the tests of the others are skipped. */
export const canRun = (person: Person | undefined): boolean => person !== undefined && !(person === other && cannot);

process.stdout.write(
  `identity is tried as: ${people
    .filter(canRun)
    .map(({ name }) => name)
    .join(", ")}\n`,
);
if (cannot) process.stdout.write(`identity: NOT TESTED as ${other?.name}: ${ground}\n`);

/** A suite for each person, called `as NAME` and `what`. */
export function asEach(what: string, suite: (person: Person) => void): void {
  for (const person of people) describe.skipIf(!canRun(person))(`as ${person.name}${what}`, () => suite(person));
}

export interface Programs {
  daemon: string;
  cli: string;
  attempt: string;
  remove(): void;
}

export async function programs(): Promise<Programs> {
  // Everybody runs the same, so they lie where everybody can.
  const root = typeof ground === "object" ? ground.root : packageRoot();
  const attempt = await bundle("test/plugins/identity/attempt.ts", root);
  return {
    daemon: built("core/bin/olliesrv.js", root),
    cli: built("bin/ollie-9p.cjs", root),
    attempt,
    remove: () => rmSync(attempt, { force: true }),
  };
}

export type Act = [verb: "read" | "write" | "rdwr" | "open" | "remove" | "rename", path: string, text?: string];

export interface Attempt {
  addr?: string;
  uname?: string;
  acts: Act[];
  /** Every socket in this folder, by each of `unames`. */
  within?: string;
  unames?: string[];
}

/** Of a socket and a name: how many acts were answered, and those that were not refused, with what came of them. */
export interface Outcome {
  answered: number;
  more: [Act | undefined, string][];
}

export interface Rig {
  dir: string;
  /** Where agents work. */
  work: string;
  /** Dial string of the main socket. */
  main: string;
  /** What a person's program `ollie-9p` says; `before`: words in front of the command. */
  user(args: string[], options?: { input?: string; before?: string[]; uid?: number }): Promise<string>;
  /** What a tool of the agent gives. */
  tool(agent: string, tool: string, args: Record<string, unknown>): Promise<string>;
  shell(agent: string, command: string): Promise<string>;
  /** The shell command that makes an attempt. */
  command(attempt: Attempt): string;
  /** What came of an attempt `within` a folder, by socket and name. */
  attemptAll(agent: string, attempt: Attempt): Promise<Record<string, Outcome>>;
  /** What came of an attempt made by a tool, `ok …` or the error, for each act. */
  attempt(agent: string, attempt: Attempt): Promise<string[]>;
  /** Folders of the sockets of agents. */
  sockets(kind?: "a" | "h"): string[];
  readonly process: ChildProcess;
  /** `ready`, or what it said where it did not start. */
  said: string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface RigOptions {
  person: Person;
  programs: Programs;
  identity?: Record<string, unknown>;
  env?: Record<string, string>;
  /** Words in front of the daemon's command. */
  before?: string[];
  /** An earlier rig's folder. */
  dir?: string;
  /** A folder in `work` that comes first in the daemon's PATH. */
  early?: string;
}

/** A folder for temporary files that the person can enter: the tests' own may be closed to all but us. */
const placeFor = (person: Person): string => (person === other && typeof ground === "object" ? ground.tmp : tmpdir());

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A daemon with sessions s1 (agents a1 and a2) and s2 (agent b1). */
export async function start(options: RigOptions): Promise<Rig> {
  const { person, programs: p } = options;
  const dir = options.dir ?? mkdtempSync(join(placeFor(person), "ollie-id-"));
  const [home, run, ns, work] = ["home", "run", "ns", "work"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const one of [dir, home, run, ns, work]) {
    mkdirSync(one, { recursive: true, mode: 0o700 });
    chownSync(one, person.uid, person.uid);
  }
  const env: Record<string, string> = {
    ...{
      PATH: `${options.early ? `${join(work, options.early)}:` : ""}${process.env.PATH}`,
      HOME: home,
      NAMESPACE: ns,
      XDG_RUNTIME_DIR: run,
      TMPDIR: dir,
    },
    ...{ USER: person.name, OLLIE_AGENTS_PATH: `${dir}/agents:${work}/agents` },
    // Identity has to hold by itself: a sandbox around the tools would hide what it lets through.
    ...{ OLLIE_ISOLATION: "none", TRIAL: JSON.stringify(options.identity ?? {}), ...options.env },
  };
  const ids = process.getuid?.() === 0 ? { uid: person.uid, gid: person.uid } : {};
  const main = join(ns, "ollie");
  const config = join(dir, "ollie.config.ts");
  copyFileSync(join(packageRoot(), "test/plugins/identity/daemon.ts"), config);
  chmodSync(config, 0o644);
  const words = [...(options.before ?? []), process.execPath, p.daemon, "fgstart", "--config", config];
  const daemon = spawn(words[0] as string, words.slice(1), {
    ...{ env, ...ids, cwd: "/" },
    // It ends with its standard input: where a hook is given up before this returns, nobody else would end it.
    stdio: ["pipe", "ignore", "pipe"],
  });
  const said = await new Promise<string>((done) => {
    let text = "";
    daemon.stderr?.on("data", (chunk) => {
      text += chunk;
      if (text.includes("olliesrv: serving at ")) done("ready");
    });
    daemon.once("close", () => done(text.trim()));
  });

  const user: Rig["user"] = async (args, { input = "", before = [], uid = person.uid } = {}) => {
    const all = [...before, process.execPath, p.cli, ...args];
    const who = process.getuid?.() === 0 ? { uid, gid: uid } : {};
    const child = spawn(all[0] as string, all.slice(1), { env, ...who, cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    let text = "";
    child.stdout?.on("data", (chunk) => (text += chunk));
    child.stderr?.on("data", (chunk) => (text += chunk));
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    await once(child, "close");
    return text.trim();
  };
  const tool: Rig["tool"] = async (agent, name, args) => {
    const session = agent.startsWith("a") ? "s1" : "s2";
    const said = await user(["rdwr", "run"], { input: JSON.stringify({ session, agent, tool: name, args }) });
    return said.replace(/\n?\[sandbox: off[^\n]*$/, "");
  };
  const shell: Rig["shell"] = (agent, command) => tool(agent, "shell", { command });
  const command: Rig["command"] = (attempt) =>
    `${quote(process.execPath)} ${quote(p.attempt)} ${quote(JSON.stringify(attempt))}`;
  if (said === "ready" && options.dir === undefined) {
    await user(["rdwr", "session/new"], { input: `name=s1 cwd=${work} agent=default` });
    await user(["rdwr", "session/new"], { input: "name=s2" });
    for (const [session, name] of [
      ["s1", "a1"],
      ["s1", "a2"],
      ["s2", "b1"],
    ])
      await user(["rdwr", `session/${session}/agent/new`], { input: `cwd=${work} agent=default name=${name}` });
  }
  const tried = async (agent: string, attempt: Attempt) => {
    const text = await shell(agent, command(attempt));
    try {
      return JSON.parse(text.split("\n").find((line) => line.startsWith("[")) ?? "");
    } catch {
      throw new Error(`the attempt could not be made: ${text}`);
    }
  };
  return {
    ...{ dir, work, main: `unix!${main}`, user, tool, shell, command, process: daemon, said, attempt: tried },
    attemptAll: async (agent, attempt) => (await tried(agent, attempt))[0],
    sockets(kind = "a") {
      try {
        return readdirSync(join(run, "ollie", kind)).map((name) => join(run, "ollie", kind, name));
      } catch {
        return [];
      }
    },
    async stop(signal = "SIGTERM") {
      if (daemon.exitCode === null && daemon.signalCode === null) {
        daemon.kill(signal);
        const late = setTimeout(() => daemon.kill("SIGKILL"), 10_000);
        await once(daemon, "exit");
        clearTimeout(late);
      }
      if (signal === "SIGTERM") rmSync(dir, { recursive: true, force: true });
    },
  };
}
