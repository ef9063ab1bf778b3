import { createConnection } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { clientOver, connect, OREAD, OWRITE, RemoteError } from "../../../core/ninep/client.ts";
import { encode, type Tmsg } from "../../../core/ninep/codec.ts";
import { both, cleanups, reasonOf } from "./pair.ts";
import { tiny } from "./tiny.ts";

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
