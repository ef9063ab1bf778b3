/** Commands of the user's: prompt commands and `!cmd` speak for their agent as hooks, on sockets of their own. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Attempt, asEach, type Programs, programs, type Rig, start } from "./rig.ts";

let p: Programs;
beforeAll(async () => {
  p = await programs();
});
afterAll(() => p.remove());

const at = "session/s1/agent/a1";

asEach(", a command", (person) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await start({ person, programs: p });
    expect(rig.said).toBe("ready");
  });
  afterAll(() => rig?.stop());

  /** Writes `!command` and waits for the end of the file that it writes. */
  async function bang(command: string, as: (args: string[], text: string) => Promise<string>): Promise<string> {
    const file = join(rig.work, `bang-${Math.random().toString(36).slice(2)}`);
    await as(["write", `${at}/prompt`], `!{ ${command}; } > ${file}.tmp 2>&1; mv ${file}.tmp ${file}`);
    for (let waited = 0; waited < 10_000; waited += 20) {
      try {
        return readFileSync(file, "utf8").trim();
      } catch {
        await sleep(20);
      }
    }
    throw new Error(`the command did not end: ${command}`);
  }
  const byUser = (args: string[], input: string) => rig.user(args, { input });
  const attempt = async (what: Attempt): Promise<string[]> =>
    JSON.parse((await bang(rig.command(what), byUser)).split("\n").find((line) => line.startsWith("[")) ?? "[]");

  test("`!cmd` may do as the user, but for the server's own files; the main socket refuses it", async () => {
    const results = await attempt({
      uname: person.name,
      acts: [
        ["write", `${at}/plan`, "by a hook"],
        ["rdwr", `${at}/ctl`, "tools"],
        ["write", "session/s1/env", "A=1"],
        ["rdwr", "ctl", "help"],
        ["read", "plugins/idx"],
      ],
    });
    expect(results).toEqual(["ok", expect.stringMatching(/^ok /), "ok", "permission denied", "permission denied"]);
    expect(await attempt({ addr: rig.main, acts: [["read", "agents"]] })).toEqual([
      "no way in: permission denied: this process is sandboxed; use $NAMESPACE",
    ]);
  });

  test("a hook is no user on files that the user alone may use", async () => {
    const [help, plugins] = await attempt({
      acts: [
        ["rdwr", "ctl", "kill"],
        ["read", "plugins/identity/config"],
      ],
    });
    expect([help, plugins]).toEqual(["permission denied", "permission denied"]);
    expect(await rig.user(["read", "agents"])).toContain("default");
  });

  test("its socket serves nobody else: no tool, no other command, no person", async () => {
    const folder = join(rig.work, "folder");
    const going = bang(
      `echo "$NAMESPACE" > ${folder}.tmp; mv ${folder}.tmp ${folder}; while [ ! -e ${folder}.go ]; do sleep 0.05; done`,
      byUser,
    );
    let mine = "";
    for (let i = 0; i < 200 && mine === ""; i++) {
      await sleep(20);
      try {
        mine = readFileSync(folder, "utf8").trim();
      } catch {
        // not yet
      }
    }
    expect(rig.sockets("h")).toContain(mine);
    const what: Attempt = { addr: `unix!${mine}/ollie`, acts: [["write", `${at}/prompt`, "x"]] };
    const refused = "permission denied: this socket is a command's, for what it has started alone";
    // A confined tool is refused for that already.
    expect((await rig.attempt("a1", what))[0]).toMatch(/no way in: permission denied/);
    expect(await attempt(what)).toEqual([`no way in: ${refused}`]);
    expect(await rig.user(["-a", `unix!${mine}/ollie`, "read", "agents"])).toContain(refused);
    writeFileSync(`${folder}.go`, "");
    await going;
    for (let i = 0; i < 100 && rig.sockets("h").length > 0; i++) await sleep(20);
    expect(rig.sockets("h")).toEqual([]);
  }, 30_000);

  test("a confined one is refused", async () => {
    const said = await bang(`setpriv --no-new-privs ${rig.command({ acts: [["read", "agents"]] })}`, byUser);
    expect(said).toContain("permission denied: this process is sandboxed; use $NAMESPACE");
  });

  test("prompt commands have theirs, for the agent that is being made", async () => {
    const agents = join(rig.dir, "agents");
    mkdirSync(agents, { recursive: true });
    const command = rig.command({
      acts: [
        ["read", "session/s1/id"],
        ["rdwr", "ctl", "help"],
      ],
    });
    writeFileSync(join(agents, "asking.json"), JSON.stringify({ prompt: [command] }), { mode: 0o644 });
    await rig.user(["rdwr", "session/s1/agent/new"], { input: `cwd=${rig.work} agent=asking name=asking` });
    const id = await rig.user(["read", "session/s1/id"]);
    const said = await rig.user(["read", "session/s1/agent/asking/systemprompt"]);
    expect(JSON.parse(said)).toEqual([`ok ${id}`, "permission denied"]);
  });

  test("what it causes has a depth that ends it", async () => {
    const script = join(rig.work, "again.sh");
    const count = join(rig.work, "count");
    const cli = `'${process.execPath}' '${p.cli}'`;
    writeFileSync(script, `echo x >> ${count}\nprintf '!sh ${script}' | ${cli} write ${at}/prompt 2>> ${count}\n`);
    await rig.user(["write", `${at}/prompt`], { input: `!sh ${script}` });
    const deep = /turns caused by hooks are 8 deep/;
    for (let i = 0; i < 300 && !deep.test(read(count)); i++) await sleep(50);
    expect(read(count)).toMatch(deep);
    expect(
      read(count)
        .split("\n")
        .filter((line) => line === "x"),
    ).toHaveLength(9);
  }, 30_000);
});

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
