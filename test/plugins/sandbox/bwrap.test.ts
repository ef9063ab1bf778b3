/** What bubblewrap is told, and what a tool server inside of it is like. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bwrapWords, rulesInside, unconfinedRules } from "#plugins/sandbox";
import type { Found } from "../../../plugins/toolsrv/provider.ts";
import { until } from "../toolsrv/processes.ts";
import { here } from "./gate.ts";
import { type Place, place } from "./runner.ts";

/** Pids of processes whose command line begins with `words`, in whatever folder the program is, as they are seen from here. */
const runningLike = (words: string): number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && commandOf(pid).startsWith(words);
      } catch {
        return false;
      }
    });

const commandOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/cmdline`, "latin1")
    .replaceAll("\0", " ")
    .replace(/^\/\S*\//, "");

const parentOf = (pid: number): number =>
  Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);

const grant = (path: string, mode: "ro" | "rox" | "rw" | "rwx") => ({ path, mode, id: "1:1" });

test("its words: nothing but what is granted, parents first, links last", () => {
  const rules = {
    ...unconfinedRules("p", []),
    unconfined: false,
    grants: [
      grant("/w/sub", "rwx"),
      grant("/w", "ro"),
      grant("/usr", "rox"),
      grant("/usr/lib", "ro"),
      grant("/dev/null", "rw"),
    ],
    links: [
      { path: "/bin", target: "/usr/bin" },
      { path: "/usr/x", target: "/usr/y" },
    ],
    unix: ["/run/s"],
  };
  const words = bwrapWords(rules, { own: ["/opt/node"], unshareNetwork: true }).join(" ");
  expect(words).toContain("--ro-bind-try /usr /usr --ro-bind-try /w /w --bind-try /w/sub /w/sub");
  expect(words).toContain("--ro-bind-try /opt/node /opt/node");
  expect(words).toContain("--ro-bind-try /run/s /run/s --symlink /usr/bin /bin --chdir / --");
  expect(words).toContain("--unshare-net --proc /proc --dev /dev --tmpfs /tmp");
  expect(words).not.toMatch(/\/usr\/lib|\/dev\/null|\/usr\/x| \/ \/ /);
  const inside = rulesInside(rules);
  expect(inside.grants.find(({ path }) => path === "/dev/null")?.id).toBe("");
  expect(inside.grants.at(-1)).toEqual({ path: "/tmp", mode: "rwx", id: "" });
});

test("hooks of git are read only where they are a folder of a repository", () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie-bwrap-")));
  try {
    const words = () =>
      bwrapWords({ ...unconfinedRules("p", []), grants: [grant(dir, "rwx")] }, { own: [], unshareNetwork: false }).join(
        " ",
      );
    expect(words()).not.toContain("hooks");
    writeFileSync(join(dir, ".git"), "gitdir: /a/worktree's\n");
    expect(words()).not.toContain("hooks");
    rmSync(join(dir, ".git"));
    for (const name of ["hooks", "objects"]) mkdirSync(join(dir, ".git", name), { recursive: true });
    expect(words()).toContain(`--ro-bind-try ${dir}/.git/hooks ${dir}/.git/hooks`);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

describe.skipIf(!here.bwrap)("a tool server inside", () => {
  let p: Place;
  beforeEach(() => {
    p = place({ wanted: "bwrap" });
  });
  afterEach(() => p.close());

  test("sees its own processes and its own /tmp, and says so", async () => {
    const { content } = await p.shell("ls -d /proc/[0-9]* | wc -l; touch /tmp/mine && ls /tmp | grep -c mine");
    const [processes, mine] = content.split("\n").map(Number);
    expect(processes).toBeLessThan(12);
    expect(mine).toBe(1);
    expect(await p.runner.sandbox(p.session)).toMatch(/^sandbox=on\nprovider=bwrap\nprofile=default$/m);
  });

  test("calls under other rules have one of their own, and the first goes on", async () => {
    await p.shell("echo kept > /tmp/mine");
    expect((await p.shell("touch x; ls /tmp", { sandbox: "readonly" })).content).toMatch(/denied|Read-only/i);
    expect((await p.shell("cat /tmp/mine")).content).toBe("kept");
  });

  test.each([
    ["with", "bwrap" as const, undefined],
    ["without", "bwrap" as const, async (): Promise<Found> => ({ provider: "bwrap", why: "a test", landlock: 0 })],
  ])("%s Landlock a directory that was made anew is the one that calls work in", async (_, wanted, find) => {
    await p.close();
    p = place({ wanted, ...(find ? { find } : {}) });
    expect((await p.shell("pwd")).content).toBe(p.cwd);
    renameSync(p.cwd, `${p.cwd}.old`);
    mkdirSync(p.cwd);
    expect(await p.shell("touch here; pwd")).toMatchObject({ status: "ok", content: p.cwd });
    expect([readdirSync(p.cwd), readdirSync(`${p.cwd}.old`)]).toEqual([["here"], []]);
  });

  test("none is ended for one that is only made ready, for a call for one that was not used for longest", async () => {
    const cwds = Array.from({ length: 9 }, (_, n) => join(p.cwd, `${n}`));
    for (const cwd of cwds) mkdirSync(cwd);
    const last = cwds.pop() as string;
    // its /tmp is its own
    for (const cwd of cwds) expect((await p.shell("touch /tmp/mark", { cwd })).status).toBe("ok");
    const marks = async () => (await p.shell("ls /tmp", { cwd: cwds[0] as string })).content;
    await p.shell("true", { cwd: cwds[1] as string });
    p.runner.warm({ session: p.session, agent: "a-1", cwd: last, profiles: [] });
    await sleep(1_000);
    expect(await marks()).toContain("mark");
    for (const cwd of [...cwds.slice(1), last]) await p.shell("true", { cwd });
    expect(await marks()).not.toContain("mark");
  });

  test("killed, it takes everything with it, also what detached itself and emptied its environment", async () => {
    const mark = `sleep 9${process.pid}`;
    await p.shell(`(env -i setsid ${mark} >/dev/null 2>&1 &) ; sleep 0.2`);
    const found = () => runningLike(mark);
    expect(found().length).toBeGreaterThan(0);
    const [bwrap = 0] = runningLike(`bwrap --unshare-pid`).filter((pid) => parentOf(pid) === process.pid);
    process.kill(bwrap, "SIGKILL");
    await until(() => found().length === 0);
  });

  test("without what Landlock gives, the network can still be none", async () => {
    await p.close();
    p = place({ find: async () => ({ provider: "bwrap", why: "a test", landlock: 0 }) });
    p.profile("default", "network: none\n");
    expect((await p.shell("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :")).content).toBe("1");
    p.profile("default", "network: { connect: [80] }\n");
    expect((await p.shell("true")).content).toBe(
      "sandbox profile default: bwrap can not enforce it (TCP ports are not confined)",
    );
  });
});
