/** ollie-9p against a real kernel over a Unix socket. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createKernel, definePlugin, dir, type Kernel, leaf, NineError, Root } from "#core";
import { type Strings, testTree } from "../../kit/tree.ts";
import { bundleCli, type Cli, printed, resultOf } from "./cli.ts";

const blob = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) % 256));

/** What the files below were given. */
const got = { messages: [] as Buffer[], stored: [] as Buffer[] };
let state = "idle";
const changes = new Set<() => void>();
const setState = (next: string): void => {
  state = next;
  for (const wake of [...changes]) wake();
};

/** statewait as an agent has it: what is written to the fid is the baseline. */
const baselines = new WeakMap<object, { value: string; look: () => void }>();
const stateOf = (fid: object): { value: string; look: () => void } => {
  const found = baselines.get(fid) ?? { value: state, look() {} };
  baselines.set(fid, found);
  return found;
};

const files = definePlugin({
  name: "files",
  doc: "Files for ollie-9p.",
  setup({ mount }) {
    mount(
      Root,
      leaf("blob", { doc: "bytes", read: () => blob }),
      leaf("store", {
        doc: "commits at the clunk",
        commit: "close",
        max: 8 << 20,
        write: (_c, data) => {
          if (data[0] === 33) throw new NineError("store: starts with !");
          got.stored.push(Buffer.from(data));
        },
      }),
      leaf("messages", {
        doc: "each write by itself",
        write: (_c, data) => {
          if (Buffer.from(data).toString().startsWith("bad")) throw new NineError("messages: bad is no verb");
          got.messages.push(Buffer.from(data));
        },
      }),
      leaf("count", {
        doc: "bytes of the body",
        max: 8 << 20,
        request: (_c, body) => (body ? `${body.length} bytes\n` : "usage: any bytes\n"),
      }),
      leaf("ticks", {
        doc: "never ends",
        stream: async function* () {
          for (let i = 0; ; i++) {
            yield `tick ${i}\n`;
            await new Promise((go) => setTimeout(go, 5));
          }
        },
      }),
      dir(
        "agent",
        {},
        leaf("state", { doc: "state", read: () => `${state}\n` }),
        leaf("statewait", {
          doc: "next state",
          blockOnce: (c) => {
            const mine = stateOf(c.fid);
            return new Promise<string>((resolve) => {
              mine.look = () => {
                if (state === mine.value) return;
                changes.delete(mine.look);
                mine.value = state;
                // A baseline written before this answer is read asks anew: then it must not be taken for one that was seen.
                mine.look = () => {};
                resolve(`${state}\n`);
              };
              changes.add(mine.look);
              mine.look();
            });
          },
          write: (c, data) => {
            const mine = stateOf(c.fid);
            mine.value = Buffer.from(data).toString().trim();
            mine.look();
          },
        }),
      ),
    );
  },
});

let cli: Cli;
let kernel: Kernel;
let strings: Strings;

beforeAll(async () => {
  cli = await bundleCli();
  const tree = testTree();
  strings = tree.strings;
  kernel = createKernel({ plugins: [files(), tree.plugin] });
  await kernel.start();
  await kernel.listen({ unix: join(cli.folder, "ollie") });
}, 60_000);

afterAll(async () => {
  await kernel?.close();
  cli?.remove();
});

beforeEach(() => {
  got.messages = [];
  got.stored = [];
  setState("idle");
});

const run: Cli["run"] = (...args) => cli.run(...args);

describe("ollie-9p read", () => {
  it("finds the daemon by its name space and prints byte for byte", async () => {
    const { code, out, err } = await run(["read", "blob"]);
    expect(err).toBe("");
    expect(out.equals(blob)).toBe(true);
    expect(code).toBe(0);
  });

  it("takes paths with and without a slash, and an address", async () => {
    const address = `unix!${join(cli.folder, "ollie")}`;
    expect((await run(["-a", address, "read", "/hello", "hello"], "", { NAMESPACE: "/nowhere" })).text).toBe(
      "hello, world\nhello, world\n",
    );
  });

  it("reports what fails, goes on, and exits 1", async () => {
    expect(await run(["read", "box/none/text", "hello", "broken"])).toMatchObject({
      code: 1,
      text: "hello, world\n",
      err: "ollie-9p: box/none/text: file not found\nollie-9p: broken: testtree: read /broken: x is undefined\n",
    });
  });

  it("prints a blocking file as its data comes", async () => {
    const child = cli.start(["read", "news"]);
    const result = resultOf(child);
    const publish = setInterval(() => strings.publish("first\n"), 10);
    try {
      await printed(child, "first\n");
    } finally {
      clearInterval(publish);
    }
    const second = printed(child, "second\n");
    strings.publish("second\n");
    await second;
    child.kill("SIGINT");
    expect(await result).toMatchObject({ signal: "SIGINT", err: "" });
  });

  it("ends quietly when nobody reads its output any more", async () => {
    const child = cli.start(["read", "ticks"]);
    await printed(child, "tick 1\n");
    const result = resultOf(child);
    child.stdout.destroy();
    expect(await result).toMatchObject({ code: 0, err: "" });
  });
});

describe("ollie-9p write", () => {
  it("writes its arguments as they are, joined by spaces, without a newline", async () => {
    expect(await run(["write", "store", "two", "words  here", "-x"])).toMatchObject({ code: 0, text: "", err: "" });
    expect(got.stored.map(String)).toEqual(["two words  here -x"]);
  });

  it("writes standard input byte for byte, larger than any message", async () => {
    expect(await run(["write", "store"], blob)).toMatchObject({ code: 0, err: "" });
    expect(got.stored).toHaveLength(1);
    expect(got.stored[0]?.equals(blob)).toBe(true);
  });

  it("makes one message of what fits in one, however it arrives", async () => {
    const child = cli.start(["write", "messages"]);
    const result = resultOf(child);
    for (const part of ["stop", " all", "\n"]) {
      child.stdin.write(part);
      await new Promise((go) => setTimeout(go, 20));
    }
    child.stdin.end();
    expect((await result).code).toBe(0);
    expect(got.messages.map(String)).toEqual(["stop all\n"]);
  });

  it("-l makes a message of each line, as it comes", async () => {
    const child = cli.start(["write", "-l", "messages"]);
    const result = resultOf(child);
    child.stdin.write("one\ntw");
    await vi.waitFor(() => expect(got.messages.map(String)).toEqual(["one\n"]), 10_000);
    child.stdin.write("o\n\nlast");
    child.stdin.end();
    expect((await result).code).toBe(0);
    expect(got.messages.map(String)).toEqual(["one\n", "two\n", "\n", "last"]);
  });

  it("-l refuses a line that no message can hold", async () => {
    const { code, err } = await run(["write", "-l", "messages"], `${"x".repeat(70_000)}\n`);
    expect(code).toBe(1);
    expect(err).toBe("ollie-9p: messages: a line has more than the 65536 bytes of one message\n");
    expect(got.messages).toEqual([]);
  });

  it("truncates when there is no data", async () => {
    expect((await run(["write", "store"])).code).toBe(0);
    expect((await run(["write", "store", ""])).code).toBe(0);
    expect(got.stored.map(String)).toEqual(["", ""]);
  });

  it("exits 1 with the server's words when the write or the commit is refused", async () => {
    expect(await run(["write", "messages", "bad"])).toMatchObject({
      code: 1,
      err: "ollie-9p: messages: bad is no verb\n",
    });
    expect(await run(["write", "store", "!x"])).toMatchObject({
      code: 1,
      err: "ollie-9p: store: starts with !\n",
    });
    expect(await run(["write", "hello", "x"])).toMatchObject({ code: 1, err: "ollie-9p: hello: permission denied\n" });
  });

  it("commits nothing of a write that was refused on the way, or cut by Ctrl-C", async () => {
    expect(await run(["write", "commit"], "12345678901234567")).toMatchObject({ code: 1 });
    expect(await kernel.fs.read("commit")).toBe("");
    const child = cli.start(["write", "store"]);
    const result = resultOf(child);
    // More than one message, so that some of it has been written when Ctrl-C comes.
    child.stdin.write(Buffer.alloc(200_000));
    await new Promise((go) => setTimeout(go, 500));
    child.kill("SIGINT");
    expect(await result).toMatchObject({ signal: "SIGINT", err: "" });
    expect(got.stored).toEqual([]);
  });
});

describe("ollie-9p rdwr", () => {
  it("writes, then prints the reply", async () => {
    expect(await run(["rdwr", "ctl", "stop", "now"])).toMatchObject({ code: 0, text: "did stop now" });
    expect(await run(["rdwr", "ctl"], "from stdin")).toMatchObject({ code: 0, text: "did from stdin" });
    expect(await run(["rdwr", "ask", "a b c"])).toMatchObject({ code: 0, text: "a.b.c." });
  });

  it("takes bodies larger than any message", async () => {
    expect(await run(["rdwr", "count"], Buffer.alloc(3 << 20, 1))).toMatchObject({
      code: 0,
      text: `${3 << 20} bytes\n`,
    });
  });

  it("prints the usage where there is no data", async () => {
    expect(await run(["rdwr", "count"])).toMatchObject({ code: 0, text: "usage: any bytes\n" });
  });
});

describe("ollie-9p ls, stat, rm, mv, create", () => {
  it("lists by name, long, and the directory itself", async () => {
    const names = (await run(["ls"])).text.trimEnd().split("\n");
    expect(names).toContain("hello");
    expect(names).toEqual([...names].sort());
    expect((await run(["ls", "agent", "hello"])).text).toBe("agent/state\nagent/statewait\nhello\n");
    const long = (await run(["ls", "-l", "agent"])).text;
    expect(long).toMatch(/^--r--r--r-- \S+ \S+ 0 [A-Z][a-z]{2} [ \d]\d \d\d:\d\d state\n--rw-rw-rw- .* statewait\n$/);
    expect((await run(["ls", "-ld", "agent"])).text).toMatch(/^d-r-xr-xr-x \S+ \S+ 0 .* agent\n$/);
    expect((await run(["read", "agent"])).err).toBe("ollie-9p: agent: it is a directory (ls lists it)\n");
    expect(await run(["ls", "none"])).toMatchObject({ code: 1, err: "ollie-9p: none: file not found\n" });
  });

  it("stats", async () => {
    const { text } = await run(["stat", "hello", "agent"]);
    expect(text).toMatch(
      /^'hello' '\S+' '\S+' '\S+' q \([0-9a-f]{16} \d+ \) m 0444 at \d+ mt \d+ l 13 t 0 d 0\n'agent' .* d\) m 020000000555 .*\n$/,
    );
  });

  it("renames and removes", async () => {
    strings.boxes.set("two", { id: "2", name: "two", text: "" });
    expect(await run(["mv", "box/two", "deux"])).toMatchObject({ code: 0, err: "" });
    expect(await run(["mv", "box/deux", "box/zwei"])).toMatchObject({ code: 0, err: "" });
    expect((await run(["ls", "box"])).text).toBe("one\nzwei\n");
    expect(await run(["mv", "box/zwei", "one"])).toMatchObject({
      code: 1,
      err: "ollie-9p: box/zwei: file already exists\n",
    });
    expect(await run(["mv", "box/zwei", "other/place"])).toMatchObject({ code: 2, text: "" });
    expect(await run(["rm", "box/zwei", "box/none"])).toMatchObject({
      code: 1,
      err: "ollie-9p: box/none: file not found\n",
    });
    expect((await run(["ls", "box"])).text).toBe("one\n");
  });

  it("hands on that nothing can be created", async () => {
    expect(await run(["create", "new"])).toMatchObject({ code: 1, err: "ollie-9p: new: permission denied\n" });
    expect(await run(["create", "-m", "9", "new"])).toMatchObject({ code: 2 });
  });
});

describe("ollie-9p wait", () => {
  it("returns at once when the state is there", async () => {
    expect(await run(["wait", "agent"])).toMatchObject({ code: 0, text: "", err: "" });
    expect(await run(["wait", "box"])).toMatchObject({
      code: 1,
      err: "ollie-9p: box: there is no agent (AGENTDIR is session/NAME/agent/NAME)\n",
    });
  });

  it("waits through other states, idle by default", async () => {
    setState("thinking");
    const child = cli.start(["wait", "agent"]);
    const result = resultOf(child);
    let over = false;
    void result.then(() => {
      over = true;
    });
    await vi.waitFor(() => expect(changes.size).toBe(1), 10_000);
    for (const next of ["calling: shell", "thinking"]) {
      setState(next);
      await vi.waitFor(() => expect(changes.size).toBe(1), 10_000);
    }
    expect(over).toBe(false);
    setState("idle");
    expect(await result).toMatchObject({ code: 0, err: "" });
  });

  it("takes a state, and a tool call for any", async () => {
    setState("calling: shell");
    expect(await run(["wait", "agent", "calling"])).toMatchObject({ code: 0 });
    const child = cli.start(["wait", "agent", "paused"]);
    const result = resultOf(child);
    await vi.waitFor(() => expect(changes.size).toBe(1), 10_000);
    setState("paused");
    expect(await result).toMatchObject({ code: 0 });
  });

  it("H-099: misses no state between look and wait", async () => {
    for (let round = 0; round < 5; round++) {
      setState("thinking");
      const child = cli.start(["wait", "agent"]);
      const result = resultOf(child);
      setTimeout(() => setState("idle"), 40 + 15 * round);
      expect(await result).toMatchObject({ code: 0 });
    }
  });
});

describe("ollie-9p batch", () => {
  it("runs a line after the other over one connection", async () => {
    const input = [
      "# a comment",
      "",
      "read hello",
      "write store all the  rest",
      'rdwr ctl {"a": 1}',
      "ls box",
      '["write", "store", "a\\nb\\n"]',
      "write store",
      "ls -d agent",
    ];
    expect(await run(["batch"], input.join("\n"))).toMatchObject({
      code: 0,
      text: 'hello, world\ndid {"a": 1}one\nagent\n',
      err: "",
    });
    expect(got.stored.map(String)).toEqual(["all the  rest", "a\nb\n", ""]);
  });

  it("goes on after a failure, whose status is the exit status", async () => {
    const input = "read hello\nread none\nfrobnicate x\n[1]\nread hello\n";
    expect(await run(["batch"], input)).toMatchObject({
      code: 1,
      text: "hello, world\nhello, world\n",
      err: [
        "ollie-9p: line 2: none: file not found",
        "ollie-9p: line 3: verb frobnicate is unknown",
        "ollie-9p: line 4: a JSON line is an array of strings\n",
      ].join("\n"),
    });
    expect((await run(["batch"], "frobnicate x\nread none\n")).code).toBe(2);
  });

  it("answers each line as it comes", async () => {
    const child = cli.start(["batch"]);
    const result = resultOf(child);
    for (const word of ["one", "two"]) {
      const answer = printed(child, `did ${word}`);
      child.stdin.write(`rdwr ctl ${word}\n`);
      await answer;
    }
    child.stdin.end();
    expect((await result).code).toBe(0);
  });
});
