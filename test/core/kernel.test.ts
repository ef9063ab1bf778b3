import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { bus, createKernel, definePlugin, dir, each, type Kernel, leaf, NineError, Root } from "#core";

let kernel: Kernel | undefined;
afterEach(async () => {
  await kernel?.close();
  kernel = undefined;
});

interface Room {
  name: string;
  said: string[];
}
const PerRoom = Root.instances<Room>()("room/{name}", "room");

const rooms = definePlugin({
  name: "rooms",
  doc: "Rooms to talk in.",
  provides: [PerRoom],
  setup({ mount, end }) {
    const all = new Map<string, Room>();
    const news = bus();
    mount(
      Root,
      dir(
        "room",
        { doc: "Rooms" },
        leaf("new", {
          doc: "Makes a room",
          rdwr: (_c, body) => {
            if (!body) return "name\n";
            const name = Buffer.from(body).toString("utf8").trim();
            if (name === "bad") throw new NineError("bad is no name");
            all.set(name, { name, said: [] });
            return `${name}\n`;
          },
        }),
        each(
          PerRoom,
          {
            list: () => all.values(),
            get: (_c, name) => all.get(name),
            name: (room) => room.name,
            remove: (room) => {
              all.delete(room.name);
              end(PerRoom, room);
            },
          },
          leaf("say", {
            doc: "Says",
            commit: "close",
            write: (c, data) => {
              c.room.said.push(Buffer.from(data).toString("utf8"));
              news.publish(data);
            },
          }),
          leaf("said", { doc: "All that was said", read: (c) => c.room.said.join("|") }),
          leaf("hear", { doc: "Follows", stream: () => news.subscribe() }),
          leaf("broken", {
            doc: "Throws",
            read: () => {
              throw new TypeError("x is undefined");
            },
          }),
        ),
      ),
    );
  },
});

test("serves instances with their own files", async () => {
  kernel = createKernel({ plugins: [rooms()] });
  await kernel.start();
  expect(await kernel.fs.rdwr("/room/new", "hall\n")).toBe("hall\n");
  await kernel.fs.write("/room/hall/say", "hello");
  expect(await kernel.fs.read("/room/hall/said")).toBe("hello");
  expect(await kernel.fs.ls("/room")).toEqual(["new", "hall"]);
  await expect(kernel.fs.read("/room/none/said")).rejects.toThrow("file not found");
  await expect(kernel.fs.rdwr("/room/new", "bad")).rejects.toThrow("bad is no name");
});

test("turns what a handler throws into an error that names plugin and path", async () => {
  kernel = createKernel({ plugins: [rooms()] });
  await kernel.start();
  await kernel.fs.rdwr("/room/new", "hall");
  await expect(kernel.fs.read("/room/hall/broken")).rejects.toThrow("rooms: read /room/hall/broken: x is undefined");
  expect(kernel.status()[0]?.error).toContain("x is undefined");
});

test("a stream ends when its instance does", async () => {
  kernel = createKernel({ plugins: [rooms()] });
  await kernel.start();
  await kernel.fs.rdwr("/room/new", "hall");
  const heard: string[] = [];
  const stream = (async () => {
    for await (const text of kernel?.fs.stream("/room/hall/hear") ?? []) heard.push(text);
  })();
  await new Promise((done) => setImmediate(done));
  await kernel.fs.write("/room/hall/say", "one");
  await kernel.fs.remove("/room/hall");
  await stream;
  expect(heard).toEqual(["one"]);
});

test("listens on a unix socket that only its owner can use", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ollie-"));
  kernel = createKernel({ plugins: [rooms()] });
  await kernel.start();
  const path = join(folder, "ollie");
  await kernel.listen({ unix: path });
  const socket = connect(path);
  await once(socket, "connect");
  socket.destroy();
  const second = createKernel({ plugins: [] });
  await expect(second.listen({ unix: path })).rejects.toThrow("is served by a running daemon");
  rmSync(folder, { recursive: true });
});

test("the reply to a command that ends its own instance can still be read", async () => {
  const ends = definePlugin({
    name: "ends",
    doc: "A room that ends itself.",
    provides: [PerRoom],
    setup({ mount, end }) {
      const room: Room = { name: "hall", said: [] };
      mount(
        Root,
        dir(
          "room",
          {},
          each(
            PerRoom,
            { list: () => [room], get: () => room, name: (one) => one.name },
            leaf("ctl", {
              doc: "ends it",
              rdwr: () => {
                end(PerRoom, room);
                return "ended\n";
              },
            }),
          ),
        ),
      );
    },
  });
  kernel = createKernel({ plugins: [ends()] });
  await kernel.start();
  expect(await kernel.fs.rdwr("/room/hall/ctl", "kill")).toBe("ended\n");
});
