/** plan9port's `9p`, where PATH has it. */
import { describe, expect, test } from "vitest";
import { found, present, type Ran, reads, rig, run, start } from "./rig.ts";

const program = found("9p");
const here = present("9p of plan9port", program ? undefined : "no 9p on PATH");
const a1 = "session/s1/agent/a1";

describe.runIf(here)("9p", () => {
  const serve = async () => {
    const { kernel, socket } = await rig();
    const argv = (args: string[]) => [program as string, "-a", `unix!${socket}`, ...args];
    return {
      kernel,
      p: (args: string[], input?: string): Promise<Ran> => run(argv(args), input),
      argv,
    };
  };

  test("read gives files whose length is 0 in stat", async () => {
    const { p } = await serve();
    expect(await p(["read", `${a1}/state`])).toMatchObject({ code: 0, out: "idle\n" });
    const help = await p(["read", "help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toMatch(/^0666 +prompt/m);
  });

  test("ls, ls -l and stat say what is there", async () => {
    const { p } = await serve();
    expect((await p(["ls", "session"])).out.split("\n")).toEqual(expect.arrayContaining(["idx", "new", "s1"]));
    const long = (await p(["ls", "-l", a1])).out;
    expect(long).toMatch(/^--r--r--r-- .* chat$/m);
    expect(long).toMatch(/^--rw-rw-rw- .* prompt$/m);
    expect((await p(["ls", "-ld", "session"])).out).toMatch(/^d/);
    expect((await p(["stat", `${a1}/state`])).out).toMatch(/^'state' .* m 0444 .* l 5 /);
  });

  test("write takes effect before it returns", async () => {
    const { p, kernel } = await serve();
    expect(await p(["write", `${a1}/prompt`], "hello\n")).toMatchObject({ code: 0, err: "" });
    expect(await p(["write", `${a1}/plan`], "one\ntwo\n")).toMatchObject({ code: 0, err: "" });
    expect(await kernel.fs.read(`/${a1}/plan`)).toBe("one\ntwo\n");
    expect((await p(["read", `${a1}/plan`])).out).toBe("one\ntwo\n");
  });

  test("write says why it is refused", async () => {
    const { p } = await serve();
    const { code, err } = await p(["write", `${a1}/ctl`], "bogus\n");
    expect(code).not.toBe(0);
    expect(err).toContain("bogus");
    expect((await p(["read", "nothing"])).err).toContain("file not found");
  });

  test("rdwr writes lines and prints replies", async () => {
    const { p } = await serve();
    const { out } = await p(["rdwr", "session/new"], "name=s2\n");
    expect(out).toContain("s2");
    expect((await p(["ls", "session"])).out).toContain("s2");
  });

  test("rm of a session ends it, and of a file is refused", async () => {
    const { p } = await serve();
    expect((await p(["rm", `${a1}/state`])).err).toContain("permission denied");
    expect(await p(["rm", "session/s1"])).toMatchObject({ code: 0 });
    expect((await p(["ls", "session"])).out).not.toContain("s1");
  });

  test("a streaming read through a pipe comes line by line, and ends with the agent", async () => {
    const { kernel, argv } = await serve();
    const follow = start(["/bin/sh", "-c", '"$@" | cat', "sh", ...argv(["read", `${a1}/chat`])]);
    const over = new Promise((done) => follow.on("close", done));
    const first = reads(follow, (text) => text.includes("ok"));
    await kernel.prompt("hello");
    await first;
    const second = reads(follow, (text) => text.includes("again"));
    await kernel.prompt("again");
    await second;
    await kernel.fs.remove("/session/s1");
    await over;
  });

  test("a blocked read that is killed leaves nothing behind", async () => {
    const { kernel, p, argv } = await serve();
    const blocked = start(argv(["read", `${a1}/statewait`]));
    const over = new Promise((done) => blocked.on("close", done));
    await new Promise((done) => setTimeout(done, 100));
    blocked.kill();
    await over;
    expect(await p(["read", `${a1}/state`])).toMatchObject({ out: "idle\n" });
    await kernel.prompt("hello");
  });
});
