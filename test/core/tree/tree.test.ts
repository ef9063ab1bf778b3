import { describe, expect, test } from "vitest";
import { type Base, bus, dir, each, type Instances, leaf, NineError, Root, token } from "#core";
import { failure, type kernelOf, late, plug, settled, started } from "../kit.ts";
import { agent } from "./open.ts";

interface Room {
  id: string;
  name: string;
}
const PerRoom = Root.instances<Room>()("room/{name}", "room");
const Rooms = token<Map<string, Room>>("rooms");

const host = plug(
  "host",
  ({ mount, provide, end, taken }) => {
    const all = new Map([["hall", { id: "1", name: "hall" }]]);
    provide(Rooms, all);
    mount(
      Root,
      dir(
        "room",
        { doc: "Rooms." },
        leaf("new", {
          doc: "Makes one.",
          write: (_c, data) => {
            const name = String(data);
            if (taken(PerRoom, name)) throw new NineError(`${name} is reserved`);
            all.set(name, { id: `${all.size + 1}`, name });
          },
        }),
        each(
          PerRoom,
          {
            list: () => all.values(),
            get: (_c, name) => all.get(name) ?? [...all.values()].find((room) => room.id === name),
            name: (room) => room.name,
            rename: (room, name) => {
              all.delete(room.name);
              room.name = name;
              all.set(name, room);
            },
            remove: (room) => {
              all.delete(room.name);
              end(PerRoom, room);
            },
          },
          leaf("id", { doc: "Its number.", read: (c) => c.room.id, size: () => 1 }),
        ),
      ),
    );
  },
  { provides: [PerRoom, Rooms] },
);

const qid = async (k: { fs: { stat(path: string): Promise<{ qid: { path: number } }> } }, path: string) =>
  (await k.fs.stat(path)).qid.path;

describe("qids", () => {
  test("are unique over literals, instances and their files", async () => {
    const k = await started([host]);
    await k.fs.write("/room/new", "attic");
    const paths = ["/", "/room", "/room/new", "/room/hall", "/room/hall/id", "/room/attic", "/room/attic/id"];
    const all = await Promise.all(paths.map((path) => qid(k, path)));
    expect(new Set(all).size).toBe(paths.length);
  });

  test("stay over a rename, and are the same by name and by UUID", async () => {
    const k = await started([host]);
    const before = [await qid(k, "/room/hall"), await qid(k, "/room/hall/id")];
    await k.fs.rename("/room/hall", "saloon");
    expect([await qid(k, "/room/saloon"), await qid(k, "/room/saloon/id")]).toEqual(before);
    expect(await qid(k, "/room/1")).toBe(before[0]);
  });

  test("stay over a rebuild", async () => {
    const fragile = plug("fragile", ({ mount }) => mount(Root, leaf("x", { doc: "x", read: () => "x" })));
    const k = await started([fragile, host]);
    const before = [await qid(k, "/room/new"), await qid(k, "/room/hall/id")];
    expect(late(k, "fragile")).toBe(true);
    await settled();
    expect(await k.fs.ls("/")).toEqual(["room"]);
    expect([await qid(k, "/room/new"), await qid(k, "/room/hall/id")]).toEqual(before);
  });

  test("are never used again: a new instance of an old name is another file", async () => {
    const k = await started([host]);
    const before = await qid(k, "/room/hall/id");
    await k.fs.remove("/room/hall");
    await k.fs.write("/room/new", "hall");
    expect(await qid(k, "/room/hall/id")).not.toBe(before);
  });
});

describe("a literal name", () => {
  test("wins over an instance of that name, which is left out of listings", async () => {
    const k = await started([host]);
    k.use(Rooms)?.set("new", { id: "9", name: "new" });
    expect(await k.fs.ls("/room")).toEqual(["new", "hall"]);
    expect((await k.fs.stat("/room/new")).dir).toBe(false);
  });

  test("can be made neither by create nor by rename", async () => {
    const k = await started([host]);
    expect(await failure(() => k.fs.write("/room/new", "new"))).toBe("new is reserved");
    expect(await failure(() => k.fs.rename("/room/hall", "new"))).toBe('"new" is reserved');
  });
});

describe("a plugin that stops", () => {
  const news = bus();
  const guest = plug("guest", ({ mount }) =>
    mount(
      Root,
      leaf("news", { doc: "x", stream: () => news.subscribe() }),
      leaf("once", { doc: "x", blockOnce: () => new Promise<string>(() => {}) }),
      leaf("slow", {
        doc: "x",
        read: (c) =>
          new Promise<string>((_, reject) => c.signal.addEventListener("abort", () => reject(c.signal.reason))),
        write: () => new Promise<void>(() => {}),
      }),
      leaf("ask", { doc: "x", rdwr: () => new Promise<string>(() => {}) }),
      leaf("long", { doc: "x", request: () => new Promise<string>(() => {}) }),
      leaf("commit", { doc: "x", commit: "close", write: () => new Promise<void>(() => {}) }),
    ),
  );

  test.each([
    ["a stream", (k: ReturnType<typeof kernelOf>) => k.fs.read("/news")],
    ["a blockOnce", (k: ReturnType<typeof kernelOf>) => k.fs.read("/once")],
    ["a read", (k: ReturnType<typeof kernelOf>) => k.fs.read("/slow")],
    ["a write", (k: ReturnType<typeof kernelOf>) => k.fs.write("/slow", "x")],
    ["a commit", (k: ReturnType<typeof kernelOf>) => k.fs.write("/commit", "x")],
    ["an rdwr", (k: ReturnType<typeof kernelOf>) => k.fs.rdwr("/ask", "x")],
    ["a request", (k: ReturnType<typeof kernelOf>) => k.fs.rdwr("/long", "x")],
  ])("wakes %s that waits, with its name, and reports no fault", async (_what, act) => {
    const k = await started([guest, host]);
    const waiting = failure(() => act(k));
    await settled();
    await k.close();
    expect(await waiting).toBe("guest: plugin stopped");
    // What was written and could not take effect is told as dropped; else nothing went wrong.
    expect(k.status()[0]?.error ?? "dropped").toContain("dropped");
  });

  test("answers so on fids that were open, and frees what others serve", async () => {
    const k = await started([guest, host]);
    const stream = k.fs.stream("/news")[Symbol.asyncIterator]();
    const next = failure(() => stream.next());
    await settled();
    expect(late(k, "guest")).toBe(true);
    expect(await next).toBe("guest: plugin stopped");
    await settled();
    expect(await failure(() => k.fs.read("/news"))).toBe("file not found");
    expect(await k.fs.read("/room/hall/id")).toBe("1");
  });

  test("leaves no reader subscribed", async () => {
    const k = await started([guest, host]);
    const reads = [failure(() => k.fs.read("/news")), failure(() => k.fs.read("/news"))];
    await settled();
    expect(news.size).toBe(2);
    await k.close();
    await Promise.all(reads);
    expect(news.size).toBe(0);
  });
});

describe("an instance that ends", () => {
  test("ends streams and blockOnce below it, and answers other messages with an error", async () => {
    let release = (_: Room) => {};
    const below = plug("below", ({ mount, end }) => {
      release = (room) => end(PerRoom, room);
      mount(
        PerRoom,
        leaf("s", { doc: "x", stream: () => bus().subscribe() }),
        leaf("b", { doc: "x", blockOnce: () => new Promise<string>(() => {}) }),
      );
    });
    const k = await started([host, below]);
    const reads = [k.fs.read("/room/hall/s"), k.fs.read("/room/hall/b")];
    await settled();
    release(k.use(Rooms)?.get("hall") as Room);
    expect(await Promise.all(reads)).toEqual(["", ""]);
    await expect(k.fs.read("/room/hall/id")).rejects.toBeInstanceOf(NineError);
  });
});

test("what is open follows a rename", async () => {
  const paths: string[] = [];
  const below = plug("below", ({ mount }) =>
    mount(
      PerRoom,
      leaf("where", {
        doc: "x",
        stream: async function* (c) {
          for (;;) {
            paths.push(c.path);
            yield c.path;
            await settled();
          }
        },
      }),
    ),
  );
  const k = await started([host, below]);
  const stream = k.fs.stream("/room/hall/where")[Symbol.asyncIterator]();
  expect((await stream.next()).value).toBe("/room/hall/where");
  await k.fs.rename("/room/hall", "saloon");
  await settled();
  expect(await k.fs.read("/room/saloon/id")).toBe("1");
  for (let value = ""; value !== "/room/saloon/where"; ) value = (await stream.next()).value;
  await stream.return?.(undefined);
});

describe("functions that find instances", () => {
  const instances = (spec: Record<string, unknown>) =>
    plug("odd", ({ mount }) =>
      mount(
        Root,
        dir(
          "room",
          {},
          each(PerRoom, {
            list: () => [],
            get: () => undefined,
            name: (room: Room) => room.name,
            ...spec,
          } as unknown as Instances<Base, Room>),
        ),
      ),
    );
  const throwing = () => {
    throw new Error("broken");
  };

  test.each<[string, Record<string, unknown>, string]>([
    ["get that throws", { get: throwing }, "odd: walk /room: broken"],
    ["get that gives a promise", { get: async () => ({}) }, "odd: walk /room: get gave a promise, not an object"],
    ["get that gives a text", { get: () => "x" }, "odd: walk /room: get gave a string, not an object"],
    ["get that gives null", { get: () => null }, "file not found"],
  ])("%s: the walk fails, nothing else", async (_what, spec, message) => {
    const k = await started([instances(spec)]);
    expect(await failure(() => k.fs.stat("/room/x"))).toBe(message);
    expect(await k.fs.ls("/")).toEqual(["room"]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["list that throws", { list: throwing }, "odd: walk /room: broken"],
    ["list that gives nothing", { list: () => undefined }, "odd: walk /room: "],
    ["list that gives texts", { list: () => ["x"] }, "odd: walk /room: list gave a string, not an object"],
    ["a name that throws", { list: () => [{}], name: throwing }, "odd: walk /room: broken"],
  ])("%s: the listing fails, nothing else", async (_what, spec, message) => {
    const k = await started([instances(spec)]);
    expect(await failure(() => k.fs.ls("/room"))).toContain(message);
    expect(await k.fs.ls("/")).toEqual(["room"]);
  });

  test("a name that throws is told as the plugin's fault by stat", async () => {
    const k = await started([instances({ get: () => ({}), name: throwing })]);
    expect(await failure(() => k.fs.stat("/room/x"))).toBe("odd: walk /room/{name}: broken");
  });

  test.each(["rename", "remove"])("%s that throws is the caller's error", async (op) => {
    const k = await started([instances({ get: () => ({ name: "x" }), [op]: throwing })]);
    const act = () => (op === "rename" ? k.fs.rename("/room/x", "y") : k.fs.remove("/room/x"));
    expect(await failure(act)).toBe(`odd: ${op} /room/x: broken`);
  });

  test("without rename and remove both are refused", async () => {
    const k = await started([instances({ get: () => ({ name: "x" }) })]);
    expect(await failure(() => k.fs.rename("/room/x", "y"))).toBe("wstat prohibited");
    expect(await failure(() => k.fs.remove("/room/x"))).toBe("permission denied");
    expect(await failure(() => k.fs.remove("/room"))).toBe("permission denied");
  });

  test("with no word on rights, agents can neither rename nor remove", async () => {
    const k = await started([host]);
    const fs = k.fs.as(agent());
    expect(await failure(() => fs.rename("/room/hall", "y"))).toBe("permission denied");
    expect(await failure(() => fs.remove("/room/hall"))).toBe("permission denied");
  });
});

test("stat runs no read handler and takes the length from size", async () => {
  let reads = 0;
  const k = await started([
    plug("a", ({ mount }) =>
      mount(Root, leaf("x", { doc: "x", read: () => `${++reads}`, size: () => 7, vers: () => 3 })),
    ),
  ]);
  expect(await k.fs.stat("/x")).toMatchObject({ length: 7, qid: { vers: 3 } });
  expect(reads).toBe(0);
});
