import { createConnection } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Client, clientOver, connect, ORDWR, OREAD, OWRITE, RemoteError } from "../../../core/ninep/client.ts";
import { encode, type Tmsg } from "../../../core/ninep/codec.ts";
import { type Tiny, tiny } from "./tiny.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanups.splice(0).reverse()) await undo();
});

async function both(override?: Parameters<typeof tiny>[0]): Promise<{ server: Tiny; client: Client }> {
  const server = await tiny(override);
  cleanups.push(() => server.close());
  const client = await connect(server.addr, { uname: "glenda" });
  cleanups.push(() => client.close());
  return { server, client };
}

const typesSince = (server: Tiny, from: number): string[] => server.seen.slice(from).map((msg) => msg.type);
const reasonOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail("resolved"),
    (e) => e as Error,
  );

describe("client", () => {
  it("negotiates msize and attaches under its name", async () => {
    const { server, client } = await both();
    expect(client.msize).toBe(8192);
    expect(server.seen).toEqual([
      { type: "Tversion", tag: 0xffff, msize: 65560, version: "9P2000" },
      { type: "Tattach", tag: 0, fid: 0, afid: 0xffffffff, uname: "glenda", aname: "" },
    ]);
  });

  it("takes its name from OLLIE_UNAME", async () => {
    vi.stubEnv("OLLIE_UNAME", "agent-7");
    try {
      const server = await tiny();
      cleanups.push(() => server.close());
      await (await connect(server.addr)).close();
      expect(server.seen[1]).toMatchObject({ uname: "agent-7" });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("reads a file to its end, however long", async () => {
    const { server, client } = await both();
    expect((await client.read("a")).toString()).toBe("hello");
    expect((await client.read("/dir//b")).toString()).toBe("inner");
    const long = await client.read("long");
    expect(long.equals(Buffer.alloc(100_000, "x"))).toBe(true);
    expect(server.seen.filter((m) => m.type === "Tread").every((m) => m.type === "Tread" && m.count <= 1000)).toBe(
      true,
    );
    expect([...server.fids.keys()]).toEqual([0]);
  });

  it("writes in pieces of iounit, after truncating, and clunks", async () => {
    const { server, client } = await both();
    const text = "0123456789".repeat(250);
    await client.write("a", text);
    expect(server.files.get("a")).toBe(text);
    const writes = server.seen.filter((m) => m.type === "Twrite");
    expect(writes.map((m) => [m.offset, m.data.length])).toEqual([
      [0, 1000],
      [1000, 1000],
      [2000, 500],
    ]);
    expect(server.seen.at(-1)?.type).toBe("Tclunk");
    await client.write("a", "");
    expect(server.files.get("a")).toBe("");
    expect(typesSince(server, server.seen.length - 3)).toEqual(["Twalk", "Topen", "Tclunk"]);
  });

  it("rejects a write whose clunk is refused", async () => {
    const { client } = await both((msg, send) => {
      if (msg.type !== "Tclunk") return;
      send({ type: "Rerror", tag: msg.tag, ename: "plan: not a checklist" });
      return true;
    });
    expect(await reasonOf(client.write("a", "x"))).toEqual(new RemoteError("plan: not a checklist"));
  });

  it("does not clunk after a failed write: that would commit a part", async () => {
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Twrite" || msg.offset < 1000) return;
      send({ type: "Rerror", tag: msg.tag, ename: "too long" });
      return true;
    });
    expect(await reasonOf(client.write("a", "x".repeat(3000)))).toBeInstanceOf(RemoteError);
    expect(server.seen.some((m) => m.type === "Tclunk")).toBe(false);
  });

  it("goes on with what a short write left, and fails when nothing is taken", async () => {
    let take = 3;
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Twrite") return;
      send({ type: "Rwrite", tag: msg.tag, count: take });
      return true;
    });
    await client.write("a", "abcdef");
    expect(server.seen.filter((m) => m.type === "Twrite").map((m) => Buffer.from(m.data).toString())).toEqual([
      "abcdef",
      "def",
    ]);
    take = 0;
    expect((await reasonOf(client.write("a", "abc"))).message).toBe("the server took none of the bytes written");
  });

  it("keeps one place for reading and one for writing", async () => {
    const { server, client } = await both();
    const file = await client.open("a", ORDWR);
    expect((await file.read(2)).toString()).toBe("he");
    await file.write("HE");
    await file.write("LP");
    expect(server.files.get("a")).toBe("HELP");
    expect((await file.read()).toString()).toBe("LP");
    expect((await file.read(2, 1)).toString()).toBe("EL");
    expect((await file.read()).length).toBe(0);
    expect(file.iounit).toBe(1000);
    await Promise.all([file.close(), file.close()]);
    expect(server.seen.filter((m) => m.type === "Tclunk")).toHaveLength(1);
  });

  it("writes a request, then reads its reply on the same fid", async () => {
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Tread") return;
      send({ type: "Rread", tag: msg.tag, data: Buffer.from("reply").subarray(msg.offset) });
      return true;
    });
    expect((await client.rdwr("a", "ask")).toString()).toBe("reply");
    expect(typesSince(server, 2)).toEqual(["Twalk", "Topen", "Twrite", "Tread", "Tread", "Tclunk"]);
    expect(server.seen[3]).toMatchObject({ mode: ORDWR });
    const pieces: string[] = [];
    for await (const bytes of client.rdwrStream("a")) pieces.push(bytes.toString());
    expect(pieces).toEqual(["reply"]);
    expect(server.seen.filter((m) => m.type === "Twrite")).toHaveLength(1);
  });

  it("lists, stats, renames, creates, removes and walks", async () => {
    const { server, client } = await both();
    expect((await client.ls("")).map((s) => s.name).sort()).toEqual(["a", "block", "dir", "long"]);
    expect((await client.ls("/dir")).map((s) => s.name)).toEqual(["b"]);
    expect((await client.ls("a")).map((s) => s.name)).toEqual(["a"]);
    expect(await client.stat("a")).toMatchObject({ name: "a", length: 5, uid: "u" });
    expect((await client.walk("dir")).type).toBe(0x80);
    expect((await client.walk("/")).type).toBe(0x80);
    await client.wstat("a", { name: "z" });
    expect(server.seen.find((m) => m.type === "Twstat")).toMatchObject({
      stat: { name: "z", mode: 0xffffffff, length: -1, mtime: 0xffffffff, type: 0xffff, uid: "" },
    });
    expect((await client.read("z")).toString()).toBe("hello");
    const file = await client.create("dir/new", 0o600, OWRITE);
    await file.write("fresh");
    await file.close();
    expect(server.seen.find((m) => m.type === "Tcreate")).toMatchObject({ name: "new", perm: 0o600, mode: OWRITE });
    expect(server.files.get("dir/new")).toBe("fresh");
    await client.remove("dir/new");
    expect(server.files.has("dir/new")).toBe(false);
    expect([...server.fids.keys()]).toEqual([0]);
  });

  it("walks more than 16 names", async () => {
    const { server, client } = await both();
    const path = Array.from({ length: 40 }, (_, i) => `n${i}`).join("/");
    server.files.set(path, "deep");
    expect((await client.read(path)).toString()).toBe("deep");
    const walks = server.seen.filter((m) => m.type === "Twalk");
    expect(walks.map((m) => m.wname.length)).toEqual([16, 16, 8]);
  });

  it("says why a walk failed, also where only its head is there, and keeps no fid", async () => {
    const { server, client } = await both();
    expect(await reasonOf(client.read("nope"))).toEqual(new RemoteError("no nope in root"));
    expect(await reasonOf(client.read("dir/nope/x"))).toEqual(new RemoteError("no nope in dir"));
    expect([...server.fids.keys()]).toEqual([0]);
    expect((await client.read("a")).toString()).toBe("hello");
  });

  it("gives the fid back when the open is refused", async () => {
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Topen") return;
      send({ type: "Rerror", tag: msg.tag, ename: "permission denied" });
      return true;
    });
    expect(await reasonOf(client.read("a"))).toEqual(new RemoteError("permission denied"));
    expect([...server.fids.keys()]).toEqual([0]);
  });

  it("has many requests in flight, and matches replies that come in any order", async () => {
    const waiting: (() => void)[] = [];
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Tread" || msg.offset === 0) return;
      const { tag, offset } = msg;
      waiting.push(() => send({ type: "Rread", tag, data: Buffer.from(`at ${offset}`) }));
      return true;
    });
    const file = await client.open("long");
    const reads = Array.from({ length: 300 }, (_, i) => file.read(100, i + 1));
    await vi.waitFor(() => expect(waiting.length).toBe(300));
    for (const give of waiting.reverse()) give();
    expect((await Promise.all(reads)).map(String)).toEqual(Array.from({ length: 300 }, (_, i) => `at ${i + 1}`));
    const tags = new Set(server.seen.flatMap((m) => (m.type === "Tread" ? [m.tag] : [])));
    expect(tags.size).toBe(300);
    expect(Math.max(...tags)).toBeLessThan(300);
    await file.close();
  });

  it("a blocked read delays no other request", async () => {
    const { server, client } = await both();
    const chunks: string[] = [];
    const reading = (async () => {
      for await (const bytes of client.stream("block")) chunks.push(bytes.toString());
    })();
    await vi.waitFor(() => expect(server.held()).toBe(1));
    expect((await client.read("a")).toString()).toBe("hello");
    server.wake("one");
    await vi.waitFor(() => expect(server.held()).toBe(1));
    expect(chunks).toEqual(["one"]);
    server.wake("");
    await reading;
    expect([...server.fids.keys()]).toEqual([0]);
  });

  it("leaving a stream's loop gives the fid back", async () => {
    const { server, client } = await both();
    for await (const _ of client.stream("long")) break;
    expect([...server.fids.keys()]).toEqual([0]);
  });
});

describe("cancelling", () => {
  it("an abort sends Tflush and rejects with the reason; the tag is free only behind the Rflush", async () => {
    const { server, client } = await both();
    const file = await client.open("block", OREAD);
    const stop = new AbortController();
    const reading = reasonOf(file.read(100, 0, { signal: stop.signal }));
    await vi.waitFor(() => expect(server.held()).toBe(1));
    const tag = server.seen.at(-1)?.tag;
    stop.abort(new Error("enough"));
    expect((await reading).message).toBe("enough");
    expect(server.seen.at(-1)).toMatchObject({ type: "Tflush", oldtag: tag });
    expect(server.held()).toBe(0);
    expect((await client.read("a")).toString()).toBe("hello");
    expect(server.seen.at(-1)?.tag).toBeLessThan(2);
    await file.close();
  });

  it("a reply that comes before the Rflush counts", async () => {
    let asked: Tmsg | undefined;
    const { client } = await both((msg, send) => {
      if (msg.type === "Twrite") {
        asked = msg;
        return true;
      }
      if (msg.type !== "Tflush") return;
      send({ type: "Rwrite", tag: asked?.tag ?? 0, count: 4 });
      send({ type: "Rflush", tag: msg.tag });
      return true;
    });
    const file = await client.open("a", OWRITE);
    const stop = new AbortController();
    const writing = file.write("done", 0, { signal: stop.signal });
    await vi.waitFor(() => expect(asked).toBeDefined());
    stop.abort();
    await writing;
    await file.close();
  });

  it("does not use the tag of a flushed request before its Rflush has come", async () => {
    let flush: (() => void) | undefined;
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Tflush") return;
      flush = () => send({ type: "Rflush", tag: msg.tag });
      return true;
    });
    const file = await client.open("block");
    const stop = new AbortController();
    const reading = reasonOf(file.read(1, 0, { signal: stop.signal }));
    await vi.waitFor(() => expect(server.held()).toBe(1));
    const tag = server.seen.at(-1)?.tag;
    stop.abort();
    await vi.waitFor(() => expect(flush).toBeDefined());
    const from = server.seen.length;
    await client.read("a");
    expect(server.seen.slice(from).some((m) => m.tag === tag)).toBe(false);
    flush?.();
    expect((await reading).name).toBe("AbortError");
    await file.close();
  });

  it("an aborted signal sends nothing", async () => {
    const { server, client } = await both();
    const from = server.seen.length;
    expect((await reasonOf(client.read("a", { signal: AbortSignal.abort() }))).name).toBe("AbortError");
    expect(server.seen.length).toBe(from);
  });

  it("leaves no listener on a signal that outlives its requests", async () => {
    const { client } = await both();
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await client.read("long", { signal });
    expect(add.mock.calls.length).toBeGreaterThan(100);
    expect(remove.mock.calls.length).toBe(add.mock.calls.length);
  });

  it("an aborted stream rejects and gives the fid back", async () => {
    const { server, client } = await both();
    const stop = new AbortController();
    const reading = reasonOf(
      (async () => {
        for await (const _ of client.stream("block", { signal: stop.signal }));
      })(),
    );
    await vi.waitFor(() => expect(server.held()).toBe(1));
    stop.abort(new Error("stop"));
    expect((await reading).message).toBe("stop");
    expect([...server.fids.keys()]).toEqual([0]);
  });
});

describe("a connection that ends", () => {
  it("rejects everything pending, and what is asked later, with one error", async () => {
    const { server, client } = await both();
    const file = await client.open("block");
    const pending = [1, 2, 3].map(() => reasonOf(file.read()));
    await vi.waitFor(() => expect(server.held()).toBe(3));
    server.hangUp();
    const errors = await Promise.all(pending);
    expect(new Set(errors).size).toBe(1);
    expect(errors[0]?.message).toBe(`${server.addr}: the server closed the connection`);
    expect(await reasonOf(client.read("a"))).toBe(errors[0]);
    expect(await reasonOf(file.close())).toBe(errors[0]);
    expect(await client.ended).toBe(errors[0]);
  });

  it("close rejects what is pending", async () => {
    const { server, client } = await both();
    const file = await client.open("block");
    const reading = reasonOf(file.read());
    await vi.waitFor(() => expect(server.held()).toBe(1));
    await client.close();
    expect((await reading).message).toBe("the connection was closed");
    await client.close();
  });

  it("bytes that are no 9P end it, not the process", async () => {
    for (const [bytes, text] of [
      [Buffer.from([3, 0, 0, 0]), "message size 3 is under 7"],
      [Buffer.from([255, 255, 255, 255]), "message size 4294967295 is over msize 8192"],
      [encode({ type: "Rclunk", tag: 77 }), "Rclunk came for tag 77, which is not in use"],
      [Buffer.from([8, 0, 0, 0, 109, 0, 0, 0]), "message has bytes after its end"],
    ] as const) {
      const { server, client } = await both();
      const file = await client.open("block");
      const reading = reasonOf(file.read());
      await vi.waitFor(() => expect(server.held()).toBe(1));
      server.raw(bytes);
      expect((await reading).message).toBe(`${server.addr}: ${text}`);
    }
  });

  it("a reply of another type than the one asked for ends it", async () => {
    const { server, client } = await both((msg, send) => {
      if (msg.type !== "Topen") return;
      send({ type: "Rclunk", tag: msg.tag });
      return true;
    });
    expect((await reasonOf(client.read("a"))).message).toBe(`${server.addr}: Rclunk came in place of Ropen`);
  });
});

describe("connecting", () => {
  it("says where nothing answers, and gives the system's error as cause", async () => {
    const error = await reasonOf(connect("/nowhere/ollie"));
    expect(error.message).toBe("no server answers at /nowhere/ollie");
    expect(error.cause).toMatchObject({ code: "ENOENT" });
    expect((await reasonOf(connect("tcp!127.0.0.1!1"))).cause).toMatchObject({ code: "ECONNREFUSED" });
  });

  it("refuses a server that speaks another version or offers a bad msize", async () => {
    for (const [msize, version, text] of [
      [8192, "unknown", "the server does not speak 9P2000"],
      [70_000, "9P2000", "msize 70000 is not usable"],
      [20, "9P2000", "msize 20 is not usable"],
    ] as const) {
      const server = await tiny((msg, send) => {
        if (msg.type !== "Tversion") return;
        send({ type: "Rversion", tag: msg.tag, msize, version });
        return true;
      });
      cleanups.push(() => server.close());
      expect((await reasonOf(connect(server.addr))).message).toBe(`${server.addr}: ${text}`);
    }
  });

  it("hands on what the server says against an attach", async () => {
    const server = await tiny((msg, send) => {
      if (msg.type !== "Tattach") return;
      send({ type: "Rerror", tag: msg.tag, ename: "who are you" });
      return true;
    });
    cleanups.push(() => server.close());
    expect(await reasonOf(connect(server.addr))).toEqual(new RemoteError("who are you"));
  });

  it("works over any stream pair", async () => {
    const server = await tiny();
    cleanups.push(() => server.close());
    const client = await clientOver(createConnection(server.addr), { uname: "x", msize: 4096 });
    expect(client.msize).toBe(4096);
    expect((await client.read("a")).toString()).toBe("hello");
    await client.close();
  });

  it("a message that msize has no room for is refused, and its tag is free again", async () => {
    const { server, client } = await both();
    const name = "n".repeat(1000);
    const path = Array.from({ length: 16 }, () => name).join("/");
    expect((await reasonOf(client.read(path))).message).toBe("Twalk is over msize 8192");
    await client.read("a");
    expect(server.seen.every((m) => m.tag === 0 || m.tag === 0xffff)).toBe(true);
  });
});
