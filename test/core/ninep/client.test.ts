import { describe, expect, it, vi } from "vitest";
import { connect, ORDWR, OWRITE, RemoteError } from "../../../core/ninep/client.ts";
import { both, cleanups, reasonOf } from "./pair.ts";
import { type Tiny, tiny } from "./tiny.ts";

const typesSince = (server: Tiny, from: number): string[] => server.seen.slice(from).map((msg) => msg.type);
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

  describe("exchange", () => {
    const collect = async (chunks: AsyncIterable<Buffer>): Promise<string> => {
      let text = "";
      for await (const bytes of chunks) text += bytes.toString();
      return text;
    };

    it("asks all in one go, and goes on reading where the first reply ended", async () => {
      const waiting: (() => void)[] = [];
      const { server, client } = await both((msg, send) => {
        if (msg.type !== "Tread") return;
        const reply = () => send({ type: "Rread", tag: msg.tag, data: Buffer.from("reply").subarray(msg.offset, 3) });
        if (msg.offset > 0) reply();
        else waiting.push(reply);
        return true;
      });
      const reply = collect(client.exchange("dir/b", "ask"));
      await vi.waitFor(() => expect(waiting).toHaveLength(1));
      expect(typesSince(server, 2)).toEqual(["Twalk", "Topen", "Twrite", "Tread"]);
      expect(server.files.get("dir/b")).toBe("ask");
      waiting[0]?.();
      expect(await reply).toBe("rep");
      await vi.waitFor(() => expect(typesSince(server, 6)).toEqual(["Tread", "Tclunk"]));
    });

    it("tells what the first request that failed said", async () => {
      const { server, client } = await both();
      const asked = collect(client.exchange("missing", "ask"));
      expect(await reasonOf(asked)).toEqual(new RemoteError("no missing in root"));
      expect([...server.fids.keys()]).toEqual([0]);
      expect((await client.read("a")).toString()).toBe("hello");
    });

    it("gives its fid back where the write is refused", async () => {
      const { server, client } = await both((msg, send) => {
        if (msg.type !== "Twrite") return;
        send({ type: "Rerror", tag: msg.tag, ename: "no such tool" });
        return true;
      });
      expect(await reasonOf(collect(client.exchange("a", "ask")))).toEqual(new RemoteError("no such tool"));
      await vi.waitFor(() => expect([...server.fids.keys()]).toEqual([0]));
    });

    it("writes what no message holds in pieces first", async () => {
      const { server, client } = await both();
      const text = "x".repeat(20_000);
      await collect(client.exchange("a", text));
      expect(server.files.get("a")).toBe(text);
    });
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
