/** Agents on their own sockets: who they are, what they may do, and what lies do not change. Tools are real processes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Act, asEach, type Programs, programs, type Rig, start } from "./rig.ts";

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
    const acts: Act[] = [
      ...["context", "systemprompt", "stats", "cfg", "log", "queue", "prompt", "tools"].map(
        (name): Act => ["read", `${of("a1")}/${name}`],
      ),
      ...["help", "agents", "models", "backends", "session/idx", "session/s1/env", "session/s1/sandbox"].map(
        (name): Act => ["read", name],
      ),
      ...["tools", "models", "help", "tool_load file_grep"].map((verb): Act => ["rdwr", `${of("a1")}/ctl`, verb]),
      ["write", `${of("a1")}/name`, "a1"],
      ...["state", "plan", "id", "name", "stats", "log", "queue"].map((name): Act => ["read", `${of("a2")}/${name}`]),
      ["write", `${of("a2")}/feed`, "x"],
      ...["state", "plan", "id", "name"].map((name): Act => ["read", `${of("b1")}/${name}`]),
    ];
    const results = await rig.attempt("a1", { acts });
    expect(results.flatMap((result, i) => (result.startsWith("ok") ? [] : [[acts[i], result]]))).toEqual([]);
    expect(results).toHaveLength(acts.length);
  });

  test.each(["a name of its own", "the user's name"])("is refused all else, with %s", async (which) => {
    const own: Act[] = [
      ...["prompt", "fifo", "inject", "feed", "cfg"].map((name): Act => ["write", `${of("a1")}/${name}`, "x"]),
      ...["stop", "pause", "resume", "clear", "kill", "inject x", "queue x", "agent default", "model x", "cwd /"].map(
        (verb): Act => ["rdwr", `${of("a1")}/ctl`, verb],
      ),
      ...["backend script", "systemprompt", "name x"].map((verb): Act => ["rdwr", `${of("a1")}/ctl`, verb]),
      ["remove", of("a1")],
    ];
    const kin: Act[] = [
      ...["cfg", "plan", "name", "tools"].map((name): Act => ["write", `${of("a2")}/${name}`, "x"]),
      ...["cfg", "context", "systemprompt", "prompt"].map((name): Act => ["read", `${of("a2")}/${name}`]),
      ...["stop", "kill", "tools"].map((verb): Act => ["rdwr", `${of("a2")}/ctl`, verb]),
      ["remove", of("a2")],
      ["rename", of("a2"), "mine"],
    ];
    const others: Act[] = [
      ...["log", "stats", "queue", "context", "prompt"].map((name): Act => ["read", `${of("b1")}/${name}`]),
      ...["prompt", "fifo", "inject", "plan", "feed"].map((name): Act => ["write", `${of("b1")}/${name}`, "x"]),
      ["rdwr", `${of("b1")}/ctl`, "kill"],
      ["read", "session/s2/env"],
      ["read", "session/s2/sandbox"],
      ["rdwr", "session/s2/agent/new", `cwd=${rig.work}`],
    ];
    const above: Act[] = [
      ["write", "session/s1/env", "PATH=/tmp"],
      ["write", "session/s1/name", "mine"],
      ...["kill", "save", "invalidate", "pause", "resume"].map((verb): Act => ["rdwr", "session/s1/ctl", verb]),
      ["remove", "session/s1"],
      ["remove", "session/s2"],
      ["rename", "session/s2", "mine"],
      ...["kill", "kill s2", "invalidate", "help"].map((verb): Act => ["rdwr", "ctl", verb]),
      ...["idx", "identity/config", "identity/status", "identity/error"].map(
        (name): Act => ["read", `plugins/${name}`],
      ),
      ["read", "usage"],
      ["rdwr", "run", "{}"],
      ["write", "busy", "1"],
      ["rdwr", "session/new", `cwd=/ agent=default`],
      ["rdwr", "session/new", `cwd=${rig.work}/.. agent=default`],
      ...["PATH=/tmp", "LD_PRELOAD=/tmp/x.so", "NODE_OPTIONS=--require=/tmp/x"].map(
        (pair): Act => ["rdwr", "session/new", `env.${pair} cwd=${rig.work} agent=default`],
      ),
      ["rdwr", "session/s1/agent/new", "cwd=/ agent=default"],
    ];
    const acts = [...own, ...kin, ...others, ...above];
    const uname = which === "the user's name" ? { uname: person.name } : {};
    const results = await rig.attempt("a1", { acts, ...uname });
    const granted = results.flatMap((result, i) =>
      /permission denied|may not|agents make no|is outside of its creator's/.test(result) ? [] : [[acts[i], result]],
    );
    expect(granted).toEqual([]);
    expect(results).toHaveLength(acts.length);
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
