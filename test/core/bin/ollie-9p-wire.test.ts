/** ollie-9p where the kernel does not do: the command line alone, no server, a server that misbehaves, what goes over the wire. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Tiny, tiny } from "../ninep/tiny.ts";
import { bundleCli, type Cli, printed, resultOf } from "./cli.ts";

let cli: Cli;
const servers: Tiny[] = [];

beforeAll(async () => {
  cli = await bundleCli();
}, 60_000);
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(() => cli?.remove());

const serve = async (override?: Parameters<typeof tiny>[0]): Promise<Tiny> => {
  const server = await tiny(override);
  servers.push(server);
  return server;
};

const verbs = ["read", "write", "rdwr", "ls", "stat", "rm", "mv", "create", "wait", "batch"];

describe("command line", () => {
  it("--help says it all on standard output", async () => {
    const { code, text, err } = await cli.run(["--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const verb of verbs) expect(text).toMatch(new RegExp(`^  ${verb}\\b`, "m"));
  });

  it("every verb has its --help", async () => {
    const helps = await Promise.all(verbs.map((verb) => cli.run([verb, "--help"])));
    for (const [i, { code, text, err }] of helps.entries()) {
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(text).toMatch(new RegExp(`^usage: ollie-9p \\[-a ADDR\\] \\[-u UNAME\\] ${verbs[i]}\\b.*\\n\\n[A-Z]`));
    }
  });

  it("a wrong command line is one sentence and exit status 2, and connects nowhere", async () => {
    for (const [args, text] of [
      [[], "a verb is missing"],
      [["frob"], "verb frob is unknown"],
      [["read"], "read: an argument is missing; usage: ollie-9p [-a ADDR] [-u UNAME] read PATH…"],
      [["mv", "a", "b", "c"], "mv: too many arguments; usage: ollie-9p [-a ADDR] [-u UNAME] mv PATH NAME"],
      [["ls", "-x"], "option -x is unknown"],
      [["-a"], "option -a needs a value"],
      [["batch", "x"], "batch: too many arguments; it reads standard input"],
    ] as const)
      expect(await cli.run([...args])).toMatchObject({
        code: 2,
        text: "",
        err: `ollie-9p: ${text} (see ollie-9p --help)\n`,
      });
  });
});

describe("no server", () => {
  it("says where it looked and how to start one", async () => {
    expect(await cli.run(["read", "x"])).toMatchObject({
      code: 1,
      err: `ollie-9p: no server answers at ${join(cli.folder, "ollie")}: start the daemon with "olliesrv start" or "npm start"\n`,
    });
    expect(await cli.run(["-a", "tcp!127.0.0.1!1", "ls"])).toMatchObject({
      code: 1,
      err: 'ollie-9p: no server answers at 127.0.0.1:1: start the daemon with "olliesrv start" or "npm start"\n',
    });
  });

  it("refuses addresses that are none", async () => {
    expect(await cli.run(["-a", "there", "ls"])).toMatchObject({
      code: 1,
      err: 'ollie-9p: address "there" is none of unix!PATH, tcp!HOST!PORT, /PATH\n',
    });
  });
});

describe("on the wire", () => {
  it("attaches as -u says, else as OLLIE_UNAME", async () => {
    const server = await serve();
    await cli.run(["-a", server.addr, "-u", "glenda", "read", "a"]);
    await cli.run(["-a", server.addr, "read", "a"], "", { OLLIE_UNAME: "agent-1" });
    const names = server.seen.flatMap((msg) => (msg.type === "Tattach" ? [msg.uname] : []));
    expect(names).toEqual(["glenda", "agent-1"]);
  });

  it("Ctrl-C ends it, and the connection with what the server does for it", async () => {
    const server = await serve();
    const child = cli.start(["-a", server.addr, "read", "block"]);
    const result = resultOf(child);
    await vi.waitFor(() => expect(server.held()).toBe(1), 10_000);
    child.kill("SIGINT");
    expect(await result).toMatchObject({ signal: "SIGINT", text: "", err: "" });
    await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000);
  });

  it("says that the connection was lost", async () => {
    const server = await serve();
    const child = cli.start(["-a", server.addr, "read", "a", "block"]);
    const result = resultOf(child);
    await printed(child, "hello");
    await vi.waitFor(() => expect(server.held()).toBe(1), 10_000);
    server.hangUp();
    expect(await result).toMatchObject({
      code: 1,
      err: `ollie-9p: ${server.addr}: the server closed the connection\n`,
    });
  });

  it("a rdwr that fits is one Twrite, and a write that is cut is not clunked", async () => {
    const server = await serve();
    await cli.run(["-a", server.addr, "rdwr", "a"], "y".repeat(1000));
    expect(server.seen.filter((msg) => msg.type === "Twrite").map((msg) => msg.data.length)).toEqual([1000]);
    const from = server.seen.length;
    const child = cli.start(["-a", server.addr, "write", "a"]);
    const result = resultOf(child);
    child.stdin.write("z".repeat(1500));
    await vi.waitFor(() => expect(server.seen.slice(from).some((msg) => msg.type === "Twrite")).toBe(true), 10_000);
    child.kill("SIGINT");
    expect(await result).toMatchObject({ signal: "SIGINT", err: "" });
    expect(server.seen.slice(from).some((msg) => msg.type === "Tclunk")).toBe(false);
  });

  it("creates what a server lets it create", async () => {
    const server = await serve();
    expect(await cli.run(["-a", server.addr, "create", "-m", "600", "dir/new", "b"])).toMatchObject({
      code: 0,
      err: "",
    });
    expect(server.seen.filter((msg) => msg.type === "Tcreate")).toMatchObject([
      { name: "new", perm: 0o600 },
      { name: "b", perm: 0o600 },
    ]);
  });
});
