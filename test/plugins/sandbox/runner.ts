/** A supervisor with a sandbox over real folders: a home, a config, a working directory, things outside. */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolDirs } from "#plugins/tools";
import type { ToolRequest, ToolResult } from "#plugins/toolsrv";
import { isolation } from "../../../plugins/toolsrv/isolation.ts";
import { processes } from "../../../plugins/toolsrv/processes.ts";
import { type Found, findProvider, type Wanted } from "../../../plugins/toolsrv/provider.ts";
import { type Supervisor, supervisor } from "../../../plugins/toolsrv/supervise.ts";
import { tmpDirs } from "../../../plugins/toolsrv/tmp.ts";
import { built } from "../../dist.ts";

const entry = built("toolsrv.js");

export interface Place {
  base: string;
  home: string;
  cfg: string;
  cwd: string;
  /** Outside of everything that is granted, with a file `secret` in it. */
  outside: string;
  env: NodeJS.ProcessEnv;
  session: string;
  runner: Supervisor;
  call(tool: string, args: Record<string, unknown>, more?: Partial<ToolRequest>): Promise<ToolResult>;
  shell(command: string, more?: Partial<ToolRequest>): Promise<ToolResult>;
  /** Writes a profile into the user's config. */
  profile(name: string, yaml: string): void;
  close(): Promise<void>;
}

export interface PlaceOptions {
  wanted?: Wanted;
  /** In place of trying. */
  find?: () => Promise<Found>;
  env?: NodeJS.ProcessEnv;
}

export function place({ wanted = "landlock", find, env: more = {} }: PlaceOptions = {}): Place {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-box-")));
  const dirs = {
    home: join(base, "home"),
    cfg: join(base, "cfg"),
    cwd: join(base, "work"),
    outside: join(base, "out"),
  };
  for (const dir of Object.values(dirs)) mkdirSync(dir);
  chmodSync(base, 0o755);
  mkdirSync(join(dirs.cfg, "sandbox"));
  writeFileSync(join(dirs.outside, "secret"), "s3cret\n");
  const env = {
    ...{ PATH: process.env.PATH, HOME: dirs.home, USER: process.env.USER },
    ...{ OLLIE_CFG_PATH: dirs.cfg, OLLIE_DATA_PATH: join(base, "data"), ...more },
  };
  const session = randomUUID();
  const runner = supervisor({
    entry,
    toolDirs: () => toolDirs(env),
    tmp: tmpDirs(join(base, "data", "tmp")),
    idle: 600_000,
    startLimit: 20_000,
    processes: processes({ keep: 600_000, limit: 256 }),
    isolation: isolation({
      find: find ?? (() => findProvider(wanted, { env, native: true })),
      profile: "default",
      env,
      toolDirs: () => toolDirs(env),
    }),
  });
  const call: Place["call"] = (tool, args, over = {}) =>
    runner.call(
      {
        ...{ session, agent: "a-1", sessionName: "s", agentName: "a", callId: "c" },
        ...{ tool, args, cwd: dirs.cwd, env: { HOME: dirs.home }, timeout: 0, ...over },
      },
      { signal: new AbortController().signal },
    );
  return {
    ...{ base, ...dirs, env, session, runner, call },
    shell: (command, over) => call("shell", { command }, over),
    profile: (name, yaml) => writeFileSync(join(dirs.cfg, "sandbox", `${name}.yaml`), yaml),
    async close() {
      await runner.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
