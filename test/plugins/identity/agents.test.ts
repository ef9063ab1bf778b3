/** Agents on their own sockets: who they are, what they may do, and what lies do not change. Tools are real processes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Act, asEach, type Programs, programs, type Rig, start } from "./rig.ts";
import { allowed, bypass, forbidden, granted } from "./rights.ts";

let p: Programs;
beforeAll(async () => {
  p = await programs();
});
afterAll(() => p.remove());

asEach(", a tool", (person) => {
  let rig: Rig;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    rig = await start({ person, programs: p });
    expect(rig.said).toBe("ready");
    for (const [session, agent] of [["s1", "a1"], ["s1", "a2"], ["s2", "b1"]] as const) // biome-ignore format: pairs
      ids[agent] = await rig.user(["read", `session/${session}/agent/${agent}/id`]);
  }, 60_000);
  afterAll(() => rig?.stop());

  const of = (agent: string) => `session/${agent.startsWith("a") ? "s1" : "s2"}/agent/${agent}`;

  test("is led to its agent's socket and speaks as that agent, whatever name it gives", async () => {
    expect(await rig.shell("a1", 'echo "$OLLIE_UNAME"; stat -c %F "$NAMESPACE/ollie"')).toBe(`${ids.a1}\nsocket`);
    for (const uname of [undefined, person.name, "root", ids.a2, ids.b1, ""]) {
      const acts: Act[] = [
        ["write", `${of("a1")}/plan`, `I am ${uname}.`],
        ["read", `${of("a1")}/plan`],
        ["write", `${of("a2")}/plan`, "mine"],
        ["write", `${of("a1")}/prompt`, "go on"],
      ];
      const results = await rig.attempt("a1", { acts, ...(uname === undefined ? {} : { uname }) });
      expect(results).toEqual([
        "ok",
        `ok I am ${uname}.`,
        "plan: permission denied: this agent may not write it",
        "prompt: permission denied: the agent itself may not write it",
      ]);
    }
  });

  test("loads tools, as the stock tool does it", async () => {
    await rig.attempt("a1", { acts: [["rdwr", `${of("a1")}/ctl`, "tool_unload file_read"]] });
    expect(await rig.tool("a1", "tool_load", { name: "file_read" })).toContain("file_read is loaded");
    expect(await rig.user(["read", `${of("a1")}/tools`])).toMatch(/^file_read$/m);
  });

  test("may read and do what the table says", async () => {
    const results = await rig.attempt("a1", { acts: allowed });
    expect(results.flatMap((result, i) => (result.startsWith("ok") ? [] : [[allowed[i], result]]))).toEqual([]);
    expect(results).toHaveLength(allowed.length);
  });

  test.each(["a name of its own", "the user's name"])("is refused all else, with %s", async (which) => {
    const acts = forbidden(rig);
    const uname = which === "the user's name" ? { uname: person.name } : {};
    const results = await rig.attempt("a1", { acts, ...uname });
    expect(granted(acts, results)).toEqual([]);
    expect(results).toHaveLength(acts.length);
    for (const result of await rig.attempt("a1", { acts: bypass, ...uname }))
      expect(result).toMatch(/permission denied|not found/);
  });

  test("may end what it made, and widen none of it", async () => {
    const acts: Act[] = [
      ["rdwr", "session/new", `name=mine cwd=${rig.work} agent=default`],
      ["rdwr", "session/s1/agent/new", `name=child cwd=${rig.work} agent=default`],
    ];
    expect(await rig.attempt("a1", { acts })).toEqual([expect.stringMatching(/^ok /), expect.stringMatching(/^ok /)]);
    const made = (await rig.user(["ls", "session/mine/agent"])).split("\n").find((name) => !name.startsWith("new"));
    const wider: Act[] = [`session/mine/agent/${made}`, "session/s1/agent/child"].flatMap((path): Act[] => [
      ["write", `${path}/cfg`, "cwd=/"],
      ["rdwr", `${path}/ctl`, "cwd /"],
      ["rdwr", `${path}/ctl`, "agent default"],
      ["write", `${path}/tools`, "shell"],
    ]);
    const ofSession: Act[] = [
      ["write", "session/mine/env", `PATH=${rig.work}`],
      ["write", "session/mine/sandbox", "sandbox=off"],
      ["rdwr", "session/mine/ctl", "kill"],
      ["rename", "session/mine", "other"],
    ];
    const all = [...wider, ...ofSession];
    expect(granted(all, await rig.attempt("a1", { acts: all }))).toEqual([]);
    const [own] = await rig.attempt("a1", { acts: [["write", "session/mine/bypass", "allow shell"]] });
    expect(own).toMatch(/permission denied|not found/);
    const ending: Act[] = [
      ["rdwr", `session/mine/agent/${made}/ctl`, "stop"],
      ["rdwr", `session/mine/agent/${made}/ctl`, "kill"],
      ["remove", "session/mine"],
      ["remove", "session/s1/agent/child"],
    ];
    expect((await rig.attempt("a1", { acts: ending })).map((result) => result.slice(0, 2))).toEqual(
      ending.map(() => "ok"),
    );
  });

  test("can not have a command run: `!` and `/` from an agent are text", async () => {
    const acts: Act[] = [
      ["write", `${of("a2")}/prompt`, `!touch ${rig.work}/pwned`],
      ["write", `${of("a2")}/fifo`, "/clear"],
      ["write", `${of("a2")}/inject`, `!touch ${rig.work}/pwned`],
    ];
    expect(await rig.attempt("a1", { acts })).toEqual(["ok", "ok", "ok"]);
    const context = await rig.user(["read", `${of("a2")}/context`]);
    expect(context).toContain(`!touch ${rig.work}/pwned`);
    expect(await rig.shell("a1", "ls")).not.toContain("pwned");
  });

  test("makes agents from configs where it writes only where these are plain", async () => {
    const configs = {
      hooks: { hooks: { preTurn: "id" } },
      commands: { prompt: ["id"] },
      command: { prompt: " !id" },
      sandbox: { sandbox: "build" },
      bypass: { bypass: "allow shell" },
      plain: { prompt: "$HOME of $USER", maxSteps: 3, autoLoad: ["file_read"] },
    };
    const files = Object.entries(configs).map(
      ([name, config]) => `echo '${JSON.stringify(config)}' > agents/${name}.json`,
    );
    await rig.shell("a1", ["mkdir -p agents", ...files].join("\n"));
    const acts = Object.keys(configs).map(
      (name): Act => ["rdwr", "session/s1/agent/new", `cwd=${rig.work} agent=${name} name=${name}`],
    );
    const results = await rig.attempt("a1", { acts });
    const refused = (what: string, name: string) =>
      `agent/new: config ${name} lies where agents write: it may not have ${what} (olliesrv trust ${rig.work}/agents/${name}.json)`;
    expect(results.slice(0, 5)).toEqual([
      refused("hooks", "hooks"),
      refused("a prompt of commands", "commands"),
      refused("a prompt of commands", "command"),
      refused("sandbox", "sandbox"),
      refused("bypass", "bypass"),
    ]);
    expect(results[5]).toMatch(/^ok id=/);
    expect(await rig.user(["read", "session/s1/agent/plain/systemprompt"])).toBe("$HOME of $USER");
    await rig.user(["rdwr", "session/s1/agent/plain/ctl"], { input: "kill" });
  });

  test("can not use the socket of another session's agent; inside one session it is no fence", async () => {
    await rig.shell("a2", "true");
    await rig.shell("b1", "true");
    const mine = await rig.shell("b1", 'echo "$NAMESPACE"');
    const others = rig.sockets().filter((folder) => folder !== mine);
    expect(others).toHaveLength(2);
    for (const folder of others) {
      const acts: Act[] = [["write", `${of("a1")}/plan`, "stolen"]];
      const [result] = await rig.attempt("b1", { acts, addr: `unix!${folder}/ollie`, uname: ids.a1 ?? "" });
      expect(result).toMatch(/no way in: permission denied: this socket is an agent's, for tools of its session alone/);
    }
    const a2 = await rig.shell("a2", 'echo "$NAMESPACE"');
    const acts: Act[] = [["write", `${of("a2")}/plan`, "by a1"]];
    expect(await rig.attempt("a1", { acts, addr: `unix!${a2}/ollie` })).toEqual(["ok"]);
  });

  test("has no socket any more when its agent is gone", async () => {
    await rig.user(["rdwr", "session/s1/agent/new"], { input: `cwd=${rig.work} agent=default name=a9` });
    const folder = await rig.shell("a9", 'echo "$NAMESPACE"');
    expect(rig.sockets()).toContain(folder);
    await rig.user(["rdwr", `${of("a9")}/ctl`], { input: "kill" });
    expect(rig.sockets()).not.toContain(folder);
  });
});
