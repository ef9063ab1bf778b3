/** Who may do what: one test for each row of the table in the namespace, through `k.fs` as that principal. */
import { type TestKernel, testKernel } from "ollie/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KernelFs, Principal } from "#core";
import { Agents } from "#plugins/agent";
import { Sessions } from "#plugins/sessions";
import control from "../../plugins/control/index.ts";

const at = "/session/s1/agent/a1";
let k: TestKernel;
/** The agent of the files that are tried, an agent of its session, one made by it, and one of another session. */
let self: Principal;
let kin: Principal;
let creator: Principal;
let other: Principal;
const user: Principal = { name: "glenda", groups: ["glenda"], kind: "user" };
const hook: Principal = { ...user, kind: "hook" };

const principal = (session: string, name: string): Principal => {
  const of = k.use(Sessions)?.get(session);
  const id = of && k.use(Agents)?.get(of, name)?.id;
  if (!of || !id) throw new Error(`no agent ${session}/${name}`);
  return { name: id, groups: ["agent", `s:${of.id}`], kind: "agent", agent: id, session: of.id };
};

beforeAll(async () => {
  k = await testKernel({ plugins: [control()], tools: { look: () => "seen" } });
  await k.fs.rdwr("/session/new", `name=s1 cwd=${process.cwd()} agent=default`);
  await k.fs.rdwr("/session/new", `name=s2 cwd=${process.cwd()} agent=default`);
  const make = (session: string, name: string, fs: KernelFs = k.fs) =>
    fs.rdwr(`/session/${session}/agent/new`, `cwd=${process.cwd()} agent=default name=${name}`);
  await make("s1", "boss");
  creator = principal("s1", "boss");
  await make("s1", "a1", k.fs.as(creator));
  await make("s1", "peer");
  await make("s2", "far");
  self = principal("s1", "a1");
  kin = principal("s1", "peer");
  other = principal("s2", "far");
});
afterAll(() => k.close());

/** Why `act` was refused for lack of rights; `ok` where it was not, whatever else came of it. */
async function outcome(act: Promise<unknown>): Promise<string> {
  const blocked = new Promise<string>((done) => setTimeout(() => done("ok"), 50).unref());
  const tried = act.then(
    () => "ok",
    (error: Error) => (/permission|may not|agents make no/.test(error.message) ? "refused" : "ok"),
  );
  return Promise.race([tried, blocked]);
}

/** Of `files`, those that may be read and those that may be written by `who`. */
async function rights(who: Principal, files: readonly string[]): Promise<{ r: string[]; w: string[] }> {
  const fs = k.fs.as(who);
  const result = { r: [] as string[], w: [] as string[] };
  for (const file of files) {
    const stream = fs.stream(`${at}/${file}`)[Symbol.asyncIterator]();
    if ((await outcome(stream.next())) === "ok") result.r.push(file);
    void stream.return?.().catch(() => {});
    if ((await outcome(fs.write(`${at}/${file}`, ""))) === "ok") result.w.push(file);
  }
  return result;
}

const files =
  "prompt fifo queue inject feed chat chat.raw log state statewait stats cfg ctl tools plan context systemprompt id name".split(
    " ",
  );
const verb = (who: Principal, line: string) => outcome(k.fs.as(who).rdwr(`${at}/ctl`, line));

describe("user", () => {
  test("may do everything; mode bits do not bind it", async () => {
    const readable = files.filter((file) => file !== "inject");
    const writable = "prompt fifo queue inject feed statewait cfg ctl tools plan name".split(" ");
    expect(await rights(user, files)).toEqual({ r: readable, w: writable });
    for (const line of ["stop", "resume", "tools", "cwd", "queue"]) expect(await verb(user, line)).toBe("ok");
    expect(await outcome(k.fs.as({ ...user, name: "somebody" }).rdwr("/ctl", "help"))).toBe("ok");
  });
});

describe("hook", () => {
  test("may do as the user in sessions, and neither root ctl nor plugins", async () => {
    const fs = k.fs.as(hook);
    for (const [file, text] of Object.entries({ prompt: "", ctl: "tools", cfg: "", plan: "", inject: "" }))
      expect([file, await outcome(fs.write(`${at}/${file}`, text))]).toEqual([file, "ok"]);
    expect(await verb(hook, "stop")).toBe("ok");
    expect(await outcome(fs.write("/session/s1/env", "A=1"))).toBe("ok");
    expect(await outcome(fs.rdwr("/ctl", "help"))).toBe("refused");
    for (const file of ["/plugins/idx", "/plugins/agent/config", "/plugins/agent/error"])
      expect(await outcome(fs.read(file))).toBe("refused");
  });
});

describe("self", () => {
  test("reads its own directory, but takes no prompt out; writes plan, tools and name, and the ctl verbs that are its own", async () => {
    const { r, w } = await rights(self, files);
    expect(r).toEqual(files.filter((file) => file !== "inject" && file !== "fifo"));
    expect(w).toEqual("statewait ctl tools plan name".split(" "));
    for (const line of ["tool_load look", "tool_unload look", "tools", "models", "compact", "help"])
      expect([line, await verb(self, line)]).toEqual([line, "ok"]);
    for (const line of [
      "stop",
      "kill",
      "cwd /",
      "model other",
      "clear",
      "inject x",
      "queue x",
      "systemprompt",
      "backend script",
    ])
      expect([line, await verb(self, line)]).toEqual([line, "refused"]);
    expect(await outcome(k.fs.as(self).write("/session/s1/env", "A=1"))).toBe("refused");
    expect(await outcome(k.fs.as(self).rdwr("/session/s1/ctl", "kill"))).toBe("refused");
  });
});

describe("kin", () => {
  const readable = "queue chat chat.raw log state statewait stats plan id name".split(" ");
  const writable = "prompt fifo inject feed statewait".split(" ");

  test("read what tells how an agent fares; write prompts, and cannot stop it", async () => {
    expect(await rights(kin, files)).toEqual({ r: readable, w: writable });
    for (const line of ["stop", "kill", "tools", "model x"])
      expect([line, await verb(kin, line)]).toEqual([line, "refused"]);
    expect(await outcome(k.fs.as(kin).remove(at))).toBe("refused");
    expect(await outcome(k.fs.as(kin).rename(at, "mine"))).toBe("refused");
  });

  test("a creator may also stop, kill and remove", async () => {
    const { r, w } = await rights(creator, files);
    expect(r).toEqual(expect.arrayContaining(readable));
    expect(w).toEqual(expect.arrayContaining([...writable, "ctl"]));
    expect(w).not.toContain("cfg");
    expect(await verb(creator, "stop")).toBe("ok");
    expect(await verb(creator, "model x")).toBe("refused");
    const child = async (name: string) => {
      await k.fs.as(creator).rdwr("/session/s1/agent/new", `cwd=${process.cwd()} agent=default name=${name}`);
      return `/session/s1/agent/${name}`;
    };
    expect(await outcome(k.fs.as(creator).remove(await child("one")))).toBe("ok");
    expect(await outcome(k.fs.as(creator).rdwr(`${await child("two")}/ctl`, "kill"))).toBe("ok");
    expect((await k.fs.ls("/session/s1/agent")).filter((name) => name === "one" || name === "two")).toEqual([]);
  });
});

describe("other agents", () => {
  test("read id, name, state and plan", async () => {
    expect(await rights(other, files)).toEqual({ r: "state plan id name".split(" "), w: [] });
    expect(await verb(other, "tools")).toBe("refused");
    expect(await outcome(k.fs.as(other).remove(at))).toBe("refused");
    expect(await outcome(k.fs.as(other).read("/session/s1/env"))).toBe("refused");
    expect(await outcome(k.fs.as(other).rdwr("/session/s1/agent/new", `cwd=${process.cwd()}`))).toBe("refused");
  });
});

describe("agents at the root", () => {
  test("read what there is and nothing of the server's own", async () => {
    const fs = k.fs.as(other);
    for (const file of ["help", "agents", "models", "backends", "session/idx"])
      expect([file, await outcome(fs.read(`/${file}`))]).toEqual([file, "ok"]);
    for (const file of ["plugins/idx", "plugins/agent/status", "ctl"])
      expect([file, await outcome(fs.read(`/${file}`))]).toEqual([file, "refused"]);
    expect(await outcome(fs.rename("/session/s2", "mine"))).toBe("refused");
    expect(await outcome(fs.remove("/session/s2"))).toBe("refused");
  });

  test("hear in eventwait of their own session only", async () => {
    const heard = k.fs.as(other).read("/eventwait");
    await k.fs.write(`${at}/name`, "renamed");
    await k.fs.write(`/session/s1/agent/renamed/name`, "a1");
    await k.fs.write("/session/s2/agent/far/name", "near");
    const text = await heard;
    expect(text).toContain("session/s2");
    expect(text).not.toContain("session/s1");
    await k.fs.write("/session/s2/agent/near/name", "far");
  });
});

test("help tells the rights of every file that has some", async () => {
  const help = await k.fs.read("/help");
  const line = (name: string) => help.split("\n").find((one) => one.includes(` ${name} `)) ?? "";
  expect(line("inject")).toContain("(self nothing, kin write, creator write, other nothing)");
  expect(line("plan")).toContain("(self read and write, kin read, creator read, other read)");
  expect(line("eventwait")).toContain("(an agent gets the events of its session, of the sessions that it made, and");
  expect(line("idx")).not.toBe("");
});
