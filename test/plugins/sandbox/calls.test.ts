/** Calls through a supervisor, confined: what is refused, what is told. */
import { randomUUID } from "node:crypto";
import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packageRoot } from "#core";
import { unsandboxed } from "../../../plugins/toolsrv/isolation.ts";
import { here } from "./gate.ts";
import { type Place, place } from "./runner.ts";

let p: Place;

beforeEach(() => {
  p = place();
});
afterEach(() => p.close());

const statusLines = async () =>
  Object.fromEntries((await p.runner.sandbox(p.session)).split("\n").map((l) => l.split(/=(.*)/s)));

describe.skipIf(!here.landlock)("the stock profile", () => {
  test("confines without a word, and the session's file says how", async () => {
    expect(await p.shell("pwd")).toEqual({ status: "ok", exitCode: 0, content: p.cwd });
    const { sandbox, provider, profile, network, write, native } = await statusLines();
    expect({ sandbox, provider, profile, network, native }).toEqual({
      sandbox: "on",
      provider: "landlock",
      profile: "default",
      network: "unrestricted",
      native: "koffi",
    });
    expect(write.split(" ")).toContain(p.cwd);
  });

  test("H-051: files outside are refused by the kernel, also through links and the neighbour of the same beginning", async () => {
    mkdirSync(`${p.cwd}-other`);
    writeFileSync(`${p.cwd}-other/x`, "no");
    symlinkSync(p.outside, join(p.cwd, "link"));
    for (const path of [`${p.cwd}-other/x`, "../work-other/x", `${p.cwd}/../work-other/x`, "link/secret"]) {
      const read = await p.shell(`cat ${path}`);
      expect([path, read.status, read.content]).toEqual([path, "failed", expect.stringMatching(/denied/i)]);
      expect((await p.shell(`echo x > ${path}`)).content).toMatch(/denied/i);
      expect((await p.call("file_read", { file_path: path })).content).toMatch(/outside/);
    }
    expect((await p.shell("echo in > x && cat x")).content).toBe("in");
  });

  test("H-052: special files are refused at once", async () => {
    await p.shell("mkfifo p; ln -s /proc/self/mem mem");
    for (const file_path of ["p", "/dev/zero", "mem", ".", "/proc/self/mem"]) {
      const result = await p.call("file_read", { file_path });
      expect([file_path, result.status]).toEqual([file_path, "failed"]);
    }
  });

  test("H-061: no key reaches a tool, whoever lists it", async () => {
    await p.close();
    p = place({ env: { OPENAI_API_KEY: "sk-test-2", JAVA_HOME: "/usr/java", DBUS_SESSION_BUS_ADDRESS: "x" } });
    p.profile("default", "env: [OPENAI_API_KEY]\n");
    const { content } = await p.shell("env", { env: { MINE: "1" } });
    expect(content).not.toMatch(/sk-test|DBUS/);
    expect(content).toMatch(/^JAVA_HOME=\/usr\/java$/m);
    expect(content).toMatch(/^MINE=1$/m);
  });

  test("H-090: temporary files of each agent are its own, and can be written", async () => {
    const [a, b] = await Promise.all(
      ["a-1", "b-2"].map((agent) =>
        p.shell(`echo ${agent} > $TMPDIR/out.txt; sleep 0.2; cat $TMPDIR/out.txt`, { agent }),
      ),
    );
    expect([a?.content, b?.content]).toEqual(["a-1", "b-2"]);
  });

  test("caches of package managers lie where they may be written", async () => {
    const { content } = await p.shell('echo "$npm_config_cache"; mkdir -p "$XDG_CACHE_HOME/x" && echo made');
    expect(content).toMatch(new RegExp(`^${p.base}/data/tmp/.*\nmade$`));
  });

  test("a link that a tool puts in place of what all sessions are granted takes none of them out", async () => {
    const cwd = join(p.home, ".cargo");
    mkdirSync(join(cwd, "project"), { recursive: true });
    const { content } = await p.shell(`ln -s ${p.outside} bin`, { cwd });
    const other = await p.shell(`cat ${p.outside}/secret`, { cwd: join(cwd, "project"), session: randomUUID() });
    expect([other.status, other.content]).toEqual(["failed", expect.stringMatching(/denied/)]);
    expect(content).toMatch(/denied/);
    expect(content).toContain(`holds ${cwd}/bin, which tools elsewhere are granted: it is read only`);
    expect((await p.shell("echo in > new && cat new", { cwd: join(cwd, "project") })).content).toBe("in");
  });

  test("in ollie's own folder there is only reading, and that is said", async () => {
    const cwd = realpathSync(packageRoot());
    expect((await p.shell("ls package.json", { cwd })).content).toMatch(
      /^package.json\n\[sandbox: .* it is read only\]$/,
    );
    expect((await p.shell("touch hooked", { cwd })).content).toMatch(/denied/i);
    expect(await p.runner.sandbox(p.session)).toMatch(/^note=\{CWD\} .* which no tool may write: it is read only$/m);
  });

  test("a working directory that holds the config is refused in a sentence", async () => {
    const { status, content } = await p.shell("true", { cwd: p.base });
    expect(status).toBe("refused");
    expect(content).toContain(`{CWD} (${p.base}) holds`);
  });

  test("a working directory that was made anew works on", async () => {
    await p.shell("echo old > file");
    renameSync(p.cwd, `${p.cwd}.old`);
    mkdirSync(p.cwd);
    expect((await p.shell("echo new > file && cat file")).content).toBe("new");
    expect((await p.shell(`cat ${p.cwd}.old/file`)).content).toMatch(/denied/i);
  });

  test("what a call needs is made beside the model's answer", async () => {
    const { session, cwd } = p;
    p.runner.warm({ session, agent: "a-1", cwd });
    expect((await p.shell("echo warm")).content).toBe("warm");
  });

  test("calls of one session share a domain: one may end what another left", async () => {
    const { content } = await p.shell("sleep 60 >/dev/null 2>&1 & echo $!");
    const pid = Number(/^\d+/.exec(content)?.[0]);
    expect((await p.shell(`kill ${pid} && echo killed`)).content).toBe("killed");
  });
});

describe.skipIf(!here.landlock)("the flag of a call", () => {
  test("takes a narrower profile for this call alone", async () => {
    expect((await p.shell("touch x", { sandbox: "readonly" })).content).toMatch(/denied/i);
    expect((await p.shell("touch x && echo made")).content).toBe("made");
  });

  test("a program that the profile does not let run is named with what is missing", async () => {
    p.profile("bare", 'filesystem: { ro: ["/usr"] }\n');
    expect((await p.shell("true", { sandbox: "bare" })).content).toMatch(
      /could not be started: spawn \S+sh EACCES \(sandbox profile "bare" does not grant rox on it\)$/,
    );
  });

  test("is refused where that is wider, unknown or misspelt", async () => {
    p.profile("more", `filesystem: { ro: ["${p.outside}"] }\n`);
    const of = async (sandbox: string) => (await p.shell("true", { sandbox })).content;
    expect(await of("more")).toBe(
      `sandbox: profile "more" is wider than "default", which bounds it: it grants ro on ${p.outside}`,
    );
    p.profile("free", "unconfined: true\n");
    expect(await of("free")).toMatch(/is wider .* it confines nothing$/);
    expect(await of("nope")).toBe(
      'there is no sandbox profile "nope" (profiles: build default free more readonly remote)',
    );
    expect(await of("../x")).toMatch(/can not be/);
  });
});

test.skipIf(!here.landlock)("profiles of makers bound an agent's own, and the narrowest counts", async () => {
  const of = async (...profiles: string[]) => (await p.shell("echo made > x && cat x", { profiles })).content;
  expect(await of("", "")).toBe("made");
  expect(await of("build", "default")).toBe("made");
  expect(await of("", "readonly")).toMatch(/denied/i);
  expect(await of("readonly", "")).toMatch(/denied/i);
  expect(await of("readonly", "default")).toMatch(
    /^sandbox: profile "default" is wider than "readonly", which bounds it/,
  );
});

describe("H-083: where nothing confines", () => {
  const broken = async () => ({ provider: undefined, why: "landlock: switched off; bwrap: not there", landlock: 0 });
  const probe = "touch ../out/probe && echo ran";

  test("a call is refused with the cause", async () => {
    await p.close();
    p = place({ find: broken });
    expect(await p.shell(probe)).toEqual({
      status: "refused",
      content:
        "tools do not run here: nothing can confine them (landlock: switched off; bwrap: not there); start the daemon with OLLIE_ISOLATION=none (npm start -- --unsandboxed), or use a profile with unconfined: true",
    });
    expect(await statusLines()).toMatchObject({ sandbox: "missing", provider: "missing" });
  });

  test.each([
    ["best_effort", "general: { best_effort: true }\n"],
    ["unconfined", "unconfined: true\n"],
  ])("%s runs it, and says so in the result and in the file", async (_what, yaml) => {
    await p.close();
    p = place({ find: broken });
    p.profile("default", yaml);
    expect((await p.shell(probe)).content).toBe(`ran\n${unsandboxed}`);
    expect((await p.shell(probe)).content).toBe("ran");
    expect(await statusLines()).toMatchObject({ sandbox: "off", provider: "off" });
  });

  test("the opt-out runs it, likewise", async () => {
    await p.close();
    p = place({ wanted: "none" });
    expect((await p.shell(probe)).content).toBe(`ran\n${unsandboxed}`);
    expect(await statusLines()).toMatchObject({ sandbox: "off", provider: "off", reason: "it was asked for" });
  });

  test.skipIf(!here.landlock)("a broken profile is no reason to run without one", async () => {
    p.profile("default", "filesystem: { rwxx: [/] }\n");
    const { status, content } = await p.shell(probe);
    expect({ status, content }).toEqual({
      status: "refused",
      content: `sandbox profile ${p.cfg}/sandbox/default.yaml: filesystem has an unknown key "rwxx" (keys: ro rox rw rwx unix)`,
    });
  });
});
