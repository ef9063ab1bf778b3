import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toolDirs } from "#plugins/tools";
import { members, type ToolRequest } from "#plugins/toolsrv";
import { schedule } from "../../../plugins/scheduler/schedule.ts";
import { unsandboxed } from "../../../plugins/toolsrv/isolation.ts";
import { processes } from "../../../plugins/toolsrv/processes.ts";
import { type Supervisor, type SupervisorOptions, supervisor } from "../../../plugins/toolsrv/supervise.ts";
import { tmpDirs } from "../../../plugins/toolsrv/tmp.ts";
import { built } from "../../dist.ts";
import { alive, stubborn, until } from "./processes.ts";

const entry = built("toolsrv.js");
let base: string;
let cwd: string;
let runner: Supervisor;
const session = randomUUID();
const agent = randomUUID();

const make = (more: Partial<SupervisorOptions> = {}): Supervisor =>
  supervisor({
    entry,
    toolDirs: () => [join(base, "tools"), ...toolDirs({})],
    tmp: tmpDirs(join(base, "tmp")),
    idle: 600_000,
    startLimit: 20_000,
    processes: processes({ keep: 600_000, limit: 256 }),
    ...more,
  });

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-toolsrv-")));
  cwd = join(base, "work");
  mkdirSync(cwd);
  mkdirSync(join(base, "tools"));
  runner = make();
});
afterEach(async () => {
  await runner.close();
  rmSync(base, { recursive: true, force: true });
});

function call(tool: string, args: Record<string, unknown>, more: Partial<ToolRequest> = {}, on: Partial<On> = {}) {
  const request = {
    session,
    agent,
    sessionName: "s1",
    agentName: "a1",
    callId: "call_1",
    tool,
    args,
    cwd,
    env: {},
    timeout: 0,
    ...more,
  };
  return runner.call(request, { signal: new AbortController().signal, ...on });
}
type On = Parameters<Supervisor["call"]>[1];
const shell = (command: string, more: Partial<ToolRequest> = {}, on: Partial<On> = {}) =>
  call("shell", { command }, more, on);
/** The pid of the session's toolsrv: the parent of what it runs. */
const serverPid = async () => Number(/\d+/.exec((await shell("echo $PPID")).content)?.[0]);

describe("toolsrv", () => {
  test("runs a tool and tells once that nothing is confined", async () => {
    expect(await shell("pwd")).toEqual({ status: "ok", exitCode: 0, content: `${cwd}\n${unsandboxed}` });
    expect((await shell("pwd")).content).toBe(cwd);
    expect(await runner.sandbox(session)).toContain("provider=off");
  });

  test("output comes while the call runs, the result once", async () => {
    const seen: string[] = [];
    const go = join(cwd, "go");
    const result = await shell(
      "echo one; while ! test -e go; do sleep 0.02; done; echo two",
      {},
      {
        onOutput(text) {
          seen.push(text);
          if (text.includes("one")) writeFileSync(go, "");
        },
      },
    );
    expect(seen.join("")).toBe("one\ntwo\n");
    expect(result.content).toContain("one\ntwo");
  });

  test("calls run side by side", async () => {
    const waiting = shell("while ! test -e here; do sleep 0.02; done; echo met");
    await shell("touch here");
    expect((await waiting).content).toContain("met");
  });

  test("an abort ends the call's processes and keeps what they wrote", async () => {
    const stop = new AbortController();
    let pids: number[] = [];
    const result = await shell(
      `${stubborn} echo up; sleep 905`,
      {},
      {
        signal: stop.signal,
        onOutput(text) {
          pids = pids.concat(text.match(/\d+/g)?.map(Number) ?? []);
          if (text.includes("up")) stop.abort();
        },
      },
    );
    expect(result.status).toBe("cancelled");
    expect(result.content).toMatch(/^cancelled and ended, its output until then:\n\d+/);
    expect(pids).toHaveLength(4);
    await until(() => !pids.some(alive));
  });

  test("an abort beforehand starts nothing", async () => {
    const result = await shell("touch started", {}, { signal: AbortSignal.abort() });
    expect(result.status).toBe("cancelled");
    expect(existsSync(join(cwd, "started"))).toBe(false);
  });

  test("a timeout is a result with the output so far", async () => {
    expect(await shell("echo first; sleep 60", { timeout: 200 })).toMatchObject({
      status: "timeout",
      content: expect.stringContaining("timed out after 0.2 s and was ended, its output until then:\nfirst"),
    });
  });

  test("bad requests are refused with one sentence, H-011", async () => {
    expect(await call("nosuch", {})).toMatchObject({ status: "refused", content: expect.stringContaining("nosuch") });
    expect((await call("shell", {})).content).toBe(
      'shell: required argument "command" is missing (arguments: command timeout sandbox background)',
    );
    expect((await call("shell", { command: 7 })).content).toBe(
      'shell: argument "command" must be a string, not a number',
    );
  });

  test("H-062: a working directory that is gone is named, and the session goes on", async () => {
    await shell("rm -rf ../work");
    expect(await shell("echo hi")).toMatchObject({
      status: "refused",
      content: `the working directory ${cwd} does not exist any more, create it or set another with \`cwd DIR\` in the agent's ctl`,
    });
    expect((await shell("cd / && echo hi")).status).toBe("refused");
    expect((await shell("echo hi", { cwd: base })).content).toBe("hi");
    mkdirSync(cwd);
    expect((await shell("pwd")).content).toBe(cwd);
  });

  test("H-062: a working directory that was replaced by a link is refused, as is one that is a file", async () => {
    const other = join(base, "other");
    mkdirSync(other);
    rmSync(cwd, { recursive: true });
    symlinkSync(other, cwd);
    expect(await shell("touch here")).toMatchObject({
      status: "refused",
      content: expect.stringContaining(`the working directory ${cwd} was replaced by a link to ${other}, set another`),
    });
    expect(existsSync(join(other, "here"))).toBe(false);
    rmSync(cwd);
    writeFileSync(cwd, "");
    expect((await shell("true")).content).toContain("is not a directory");
  });

  test("caches are the session's where the usual place can not be written, and go with it", async () => {
    const shown = "echo $XDG_CACHE_HOME $npm_config_cache $CARGO_HOME $GOMODCACHE";
    const home = (dir: string) => ({ env: { HOME: dir, XDG_CACHE_HOME: join(dir, ".cache") } });
    mkdirSync(join(base, "home"));
    const usual = await shell(shown, home(join(base, "home")));
    expect(usual.content.split("\n")[0]).toBe(join(base, "home", ".cache"));
    writeFileSync(join(base, "sealed"), "");
    const sealed = (await shell(`${shown}; echo $OLLIE_TMPDIR`, { env: { HOME: join(base, "sealed") } })).content;
    const [places = "", dir] = sealed.split("\n");
    expect(places.split(" ").slice(-3)).toEqual(
      ["npm_config_cache", "cargo_home", "gomodcache"].map((name) => join(dir ?? "", ".cache", name)),
    );
    const set = await shell("echo $npm_config_cache", {
      env: { HOME: join(base, "sealed"), npm_config_cache: "/mine" },
    });
    expect(set.content).toBe("/mine");
  });

  test("H-100: what toolsrv prints, on either stream and at any time, does no harm to the line", async () => {
    await runner.close();
    const noisy = join(base, "noisy.mjs");
    const junk = `const junk = () => { process.stdout.write("Welcome to the machine\\n\\n"); process.stderr.write("\\u0000{not json}".repeat(9000)); };`;
    writeFileSync(noisy, `${junk} junk(); setInterval(junk, 5).unref(); await import(${JSON.stringify(entry)});`);
    runner = make({ entry: noisy });
    const odd = "a\u2028b\u2029c\u0000".replace("\u0000", "");
    expect((await shell(`printf %s '${odd}'`)).content).toContain(odd);
    const line = "x".repeat(2_000_000);
    writeFileSync(join(cwd, "big"), "");
    const big = await call("file_write", { file_path: "new", content: line });
    expect(big.status).toBe("ok");
    expect(readFileSync(join(cwd, "new"), "utf8")).toBe(line);
    expect((await shell("yes | head -c 3000000 | tr -d '\\n'")).content).toMatch(/bytes left out/);
  });

  test("H-061: no key reaches a tool, the session's variables do", async () => {
    Object.assign(process.env, { ANTHROPIC_API_KEY: "sk-test-1", OPENAI_API_KEY: "sk-test-2", OLLIE_X: "x" });
    const pid = await serverPid();
    const { content } = await shell("env; cat /proc/$PPID/environ | tr '\\0' '\\n'", {
      env: { GREETING: "hello", MY_API_KEY: "sk-test-3", OLLIE_SESSION: "forged" },
    });
    for (const name of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLIE_X"]) delete process.env[name];
    expect(pid).toBeGreaterThan(0);
    expect(content).not.toContain("sk-test");
    expect(content).toContain("GREETING=hello");
    expect(content).toContain("OLLIE_X=x");
    expect(content).toContain("OLLIE_SESSION=s1\n");
    expect(content).toContain(`OLLIE_AGENT_ID=${agent}`);
  });

  test("arguments reach a script on stdin, in a variable and in argv", async () => {
    const file = join(base, "tools", "echo_args");
    writeFileSync(file, '#!/bin/sh\ncat; echo "$OLLIE_TOOL_ARGS"; for a in "$@"; do echo "<$a>"; done\n', {
      mode: 0o755,
    });
    const properties = {
      list: { type: "array", items: { type: "string" } },
      name: { type: "string" },
      flag: { type: "boolean" },
      last: { type: "integer" },
    };
    writeFileSync(
      `${file}.meta`,
      JSON.stringify({ description: "d", args: { type: "object", properties, required: ["name"] } }),
    );
    const { content } = await call("echo_args", { name: "a b", flag: true, list: ["x", "y"] });
    const json = '{"name":"a b","flag":true,"list":["x","y"]}';
    expect(content).toContain(`${json}\n${json}\n<a b>\n<x,y>\n<true>`);
    const big = { name: "n", list: ["z".repeat(150_000)] };
    const second = await call("echo_args", big);
    expect(second.status).toBe("ok");
    expect(second.content.trimEnd().endsWith('z"]}')).toBe(true); // no variable, no argv
  });

  test("H-045: two edits of one file and one of another in one turn all take effect", async () => {
    writeFileSync(join(cwd, "n"), Array.from({ length: 100 }, (_, i) => `${i + 1}\n`).join(""));
    writeFileSync(join(cwd, "m"), "1\n");
    for (const file_path of ["n", "m"]) await call("file_read", { file_path });
    const edit = (file_path: string, old_string: string, new_string: string) => ({
      scope: "write" as const,
      resource: join(cwd, file_path),
      run: () => call("file_edit", { file_path, old_string, new_string }),
    });
    const jobs = [edit("n", "\n50\n", "\nFIFTY\n"), edit("n", "\n75\n", "\nSEVENTYFIVE\n"), edit("m", "1", "ONE")];
    const results = await Promise.all(
      schedule(jobs, new AbortController().signal, () => ({ status: "cancelled", content: "" }) as const),
    );
    expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    const lines = readFileSync(join(cwd, "n"), "utf8").trimEnd().split("\n");
    expect([lines.length, lines[49], lines[74]]).toEqual([100, "FIFTY", "SEVENTYFIVE"]);
    expect(readFileSync(join(cwd, "m"), "utf8")).toBe("ONE\n");
  });

  test("what a file tool says is passed on as it is", async () => {
    writeFileSync(join(cwd, "f"), "a\rb \x1b[31mred\n");
    const { content } = await call("file_read", { file_path: "f" });
    expect(content).toContain("    1| a\rb \x1b[31mred");
  });

  test("a changed script and a changed .meta count at the next call", async () => {
    const file = join(base, "tools", "say");
    writeFileSync(file, "#!/bin/sh\necho one\n", { mode: 0o755 });
    writeFileSync(`${file}.meta`, '{"description":"d"}');
    expect((await call("say", {})).content).toContain("one");
    writeFileSync(file, "#!/bin/sh\necho two\n");
    expect((await call("say", {})).content).toBe("two");
    writeFileSync(`${file}.meta`, "{");
    expect((await call("say", {})).status).toBe("refused");
  });

  test("H-090: each agent has a private folder for temporary files, gone with it", async () => {
    const other = randomUUID();
    const command = "echo $OLLIE_AGENT_ID >$TMPDIR/out.txt; sleep 0.1; cat $TMPDIR/out.txt; echo $TMPDIR";
    const [a, b] = await Promise.all([shell(command), shell(command, { agent: other })]);
    expect(a.content).toContain(agent);
    expect(b.content).toContain(other);
    const dirs = [a, b].map(({ content }) => content.split("\n")[1] ?? "");
    expect(dirs.map((dir) => statSync(dir).mode & 0o777)).toEqual([0o700, 0o700]);
    await runner.end(session, other);
    expect(dirs.map((dir) => existsSync(dir))).toEqual([true, false]);
    await runner.end(session);
    expect(existsSync(dirs[0] ?? "")).toBe(false);
  });

  test("ending an agent ends what its calls left, not what others left", async () => {
    const other = randomUUID();
    const pidOf = async (who: string) =>
      Number((await shell("sleep 906 >/dev/null 2>&1 & echo $!", { agent: who })).content.split("\n")[0]);
    const [mine, theirs] = [await pidOf(agent), await pidOf(other)];
    await runner.end(session, other);
    await until(() => !alive(theirs));
    expect(alive(mine)).toBe(true);
  });

  test("toolsrv killed in the middle of a call: the call is lost, the next one works", async () => {
    const pid = await serverPid();
    let pids: number[] = [];
    const running = shell(
      `${stubborn} echo up; sleep 905`,
      {},
      {
        onOutput(text) {
          pids = pids.concat(text.match(/\d+/g)?.map(Number) ?? []);
          if (text.includes("up")) process.kill(pid, "SIGKILL");
        },
      },
    );
    const result = await running;
    expect(result.status).toBe("lost");
    expect(result.content).toMatch(/the tool server ended in the middle of this call.*\n\d+/);
    await until(() => !pids.some(alive));
    expect((await shell("echo again")).content).toBe("again");
  });

  test("an unused toolsrv ends after a time, one with processes stays, and the next call starts another", async () => {
    await runner.close();
    runner = make({ idle: 100 });
    const first = await serverPid();
    await until(() => !alive(first));
    const kept = await serverPid();
    expect(kept).not.toBe(first);
    await shell("sleep 1 >/dev/null 2>&1 &");
    await sleep(400);
    expect(alive(kept)).toBe(true);
    await until(() => !alive(kept));
  });

  test("ending a session ends everything in it", async () => {
    const pid = await serverPid();
    const { content } = await shell(`${stubborn} true`);
    const pids = content.match(/^\d+$/gm)?.map(Number) ?? [];
    expect(pids).toHaveLength(4);
    await runner.end(session);
    expect([pid, ...pids].filter(alive)).toEqual([]);
  });

  test("a program that does not start is one sentence, and is tried again", async () => {
    await runner.close();
    const broken = join(base, "broken.mjs");
    writeFileSync(broken, 'process.stderr.write("no luck\\n"); process.exit(3);');
    runner = make({ entry: broken });
    const fault = `toolsrv did not start: no luck\n${unsandboxed}`;
    expect(await shell("echo hi")).toEqual({ status: "refused", content: fault });
    writeFileSync(broken, readFileSync(entry));
    expect((await shell("echo hi")).status).not.toBe("lost");
  });

  test("no process is left after close", async () => {
    const pid = await serverPid();
    await shell(`${stubborn} true`);
    await runner.close();
    expect(alive(pid)).toBe(false);
    expect(members({ root: process.pid }).filter((each) => alive(each)).length).toBeLessThan(50);
  });
});
