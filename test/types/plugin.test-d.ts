/** What the types of plugins promise: right programs compile, wrong ones do not. */
import { assertType, expectTypeOf, test } from "vitest";
import * as z from "zod";
import {
  createKernel,
  defineConfig,
  definePlugin,
  dir,
  each,
  env,
  file,
  hook,
  type Kernel,
  leaf,
  NineError,
  OllieError,
  Root,
  token,
  type Use,
} from "#core";

interface Room {
  name: string;
}
const PerRoom = Root.instances<Room>()("room/{name}", "room");
const PerSeat = PerRoom.instances<{ row: number }>()("seat/{n}", "seat");
const rooms = { list: () => [] as Room[], get: () => undefined, name: (room: Room) => room.name };

test("definePlugin types its options by the schema", () => {
  const plugin = definePlugin({
    name: "p",
    doc: "x",
    config: z.strictObject({ limit: z.number().default(3), path: z.string().optional() }),
    setup({ config }) {
      expectTypeOf(config).toEqualTypeOf<{ limit: number; path?: string | undefined }>();
      // @ts-expect-error no such option
      config.lmit;
    },
  });
  assertType<Use>(plugin({ limit: 5 }, { rename: { "/a": "/b" }, without: ["/c"], off: true }));
  // @ts-expect-error the option is called limit
  plugin({ lmit: 5 });
  // @ts-expect-error a number is wanted
  plugin({ limit: "5" });
  // @ts-expect-error no such word of the user
  plugin({}, { renam: {} });
  expectTypeOf(plugin.plugin).toEqualTypeOf<string>();
  // @ts-expect-error a plugin has a doc
  definePlugin({ name: "p", setup() {} });
});

test("a plugin without a schema takes no options", () => {
  const plain = definePlugin({ name: "p", doc: "x", setup() {} });
  plain();
  // @ts-expect-error it takes none
  plain({ limit: 5 });
});

test("defineConfig and env(), file()", () => {
  const plugin = definePlugin({ name: "p", doc: "x", config: z.object({ key: z.string() }), setup() {} });
  defineConfig({ plugins: [plugin({ key: env("KEY", "none") }), plugin({ key: file("/key") })], log: "info" });
  defineConfig({ plugins: [], listen: { tcp: { port: 564 } } });
  // @ts-expect-error the key is called plugins
  defineConfig({ plugin: [] });
  // @ts-expect-error a factory is called
  defineConfig({ plugins: [plugin] });
  // @ts-expect-error no such level
  defineConfig({ plugins: [], log: "loud" });
  // @ts-expect-error a config can not hold a stream
  defineConfig({ plugins: [], listen: { duplex: process.stdin } });
  // @ts-expect-error a name
  env(5);
  // @ts-expect-error a path
  file();
});

test("leaf: handlers get the context of their scope, and give text", () => {
  definePlugin({
    name: "p",
    doc: "x",
    setup({ mount }) {
      mount(Root, leaf("a", { doc: "x", read: (c) => c.path }));
      mount(PerRoom, leaf("a", { doc: "x", read: (c) => c.room.name }));
      mount(PerSeat, leaf("a", { doc: "x", read: (c) => `${c.room.name} ${c.seat.row}` }));
      // @ts-expect-error the root has no room
      mount(Root, leaf("a", { doc: "x", read: (c) => c.room.name }));
      // @ts-expect-error a room has no seat
      mount(PerRoom, leaf("a", { doc: "x", read: (c) => `${c.seat.row}` }));
      mount(PerRoom, dir("d", {}, leaf("a", { doc: "x", read: (c) => c.path })));
    },
  });
  // @ts-expect-error a file has a doc
  leaf("a", { read: () => "x" });
  // @ts-expect-error a number is no text
  leaf("a", { doc: "x", read: () => 5 });
  // @ts-expect-error no such kind
  leaf("a", { doc: "x", reed: () => "x" });
});

test("a room's file is no file of the root", () => {
  const inRoom = leaf<{ room: Room } & Parameters<NonNullable<Parameters<typeof leaf>[1]["read"]>>[0]>("a", {
    doc: "x",
    read: (c) => c.room.name,
  });
  definePlugin({
    name: "p",
    doc: "x",
    setup({ mount }) {
      mount(PerRoom, inRoom);
      // @ts-expect-error it wants a room
      mount(Root, inRoom);
    },
  });
});

test("each: instances of the scope's type, functions that find them", () => {
  dir("room", { doc: "Rooms." }, each(PerRoom, rooms, leaf("a", { doc: "x", read: (c) => c.room.name })));
  // @ts-expect-error get is missing
  each(PerRoom, { list: () => [], name: () => "x" });
  // @ts-expect-error instances are rooms
  each(PerRoom, { ...rooms, list: () => [5] });
  // @ts-expect-error finding is synchronous
  each(PerRoom, { ...rooms, get: async () => ({ name: "x" }) });
  // @ts-expect-error no such attribute
  dir("d", { mod: 0o755 });
});

test("instances: a scope below another", () => {
  // @ts-expect-error instances are objects
  Root.instances<string>()("room/{name}", "room");
  // @ts-expect-error the path is a text
  Root.instances<Room>()(5, "room");
});

test("token, provide, use and tryUse", () => {
  const Clock = token<{ now(): number }>("clock");
  definePlugin({
    name: "p",
    doc: "x",
    provides: [Clock, PerRoom],
    needs: [Clock],
    setup({ provide, use, tryUse }) {
      provide(Clock, { now: () => 7 });
      // @ts-expect-error not what the token promises
      provide(Clock, { now: () => "7" });
      expectTypeOf(use(Clock)).toEqualTypeOf<{ now(): number }>();
      expectTypeOf(tryUse(Clock)).toEqualTypeOf<{ now(): number } | undefined>();
      // @ts-expect-error it may not be there
      tryUse(Clock).now();
      // @ts-expect-error a scope is no service
      use(PerRoom);
    },
  });
});

test("on and call: arguments and results by the hook's kind", () => {
  const Ev = hook.observe<[n: number]>("ev", { doc: "x" });
  const Text = hook.transform<[text: string, n: number]>("text", { doc: "x" });
  const Gate = hook.gate<[n: number]>("gate", { doc: "x", onThrow: "block" });
  // @ts-expect-error a gate says what a crash means
  hook.gate<[n: number]>("gate", { doc: "x" });
  // @ts-expect-error a hook has a doc
  hook.series<[]>("s", {});
  // @ts-expect-error a transform has a value to hand on
  hook.transform<[]>("t", { doc: "x" });
  hook.parallel<[]>("p", { doc: "x", limit: 5 });
  definePlugin({
    name: "p",
    doc: "x",
    setup({ on, call }) {
      on(Ev, (n, { signal }) => void [n.toFixed(), signal.aborted]);
      // @ts-expect-error the argument is a number
      on(Ev, (n: string) => void n);
      on(Text, async (text, n) => text + n, { stage: 100, before: "other" });
      // @ts-expect-error a text is handed on
      on(Text, () => 5);
      on(Gate, () => ({ block: "no" }));
      on(Gate, () => undefined);
      // @ts-expect-error a gate answers with an object
      on(Gate, () => "no");
      // @ts-expect-error no such order
      on(Ev, () => {}, { stge: 1 });
      expectTypeOf(call(Ev, 5)).toEqualTypeOf<void>();
      expectTypeOf(call(Text, "x", 5)).toEqualTypeOf<string | Promise<string>>();
      expectTypeOf(call(Gate, 5)).toEqualTypeOf<
        { block: string } | undefined | Promise<{ block: string } | undefined>
      >();
      // @ts-expect-error an argument is missing
      call(Ev);
    },
  });
});

test("state, end and taken", () => {
  definePlugin({
    name: "p",
    doc: "x",
    setup({ state, end, taken, mount, every, defer, listen, signal, log }) {
      const count = state(
        PerRoom,
        (room) => ({ n: 0, room: room.name }),
        ({ n }) => void n,
      );
      mount(PerRoom, leaf("a", { doc: "x", read: (c) => count(c).room }));
      mount(PerSeat, leaf("a", { doc: "x", read: (c) => count(c).room }));
      // @ts-expect-error there is no room at the root
      mount(Root, leaf("a", { doc: "x", read: (c) => count(c).room }));
      end(PerRoom, { name: "x" });
      // @ts-expect-error not an instance of that scope
      end(PerRoom, { row: 5 });
      expectTypeOf(taken(PerRoom, "new")).toEqualTypeOf<boolean>();
      // @ts-expect-error a name
      taken(PerRoom, 5);
      every(1000, () => {});
      // @ts-expect-error milliseconds come first
      every(() => {}, 1000);
      defer(async () => {});
      // @ts-expect-error an undo is a function
      defer(5);
      listen({ unix: "/tmp/x" }, { judge: () => "not you" });
      // @ts-expect-error no such place
      listen({ udp: 5 });
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      log.info("x", { n: 5 });
      // @ts-expect-error no such level
      log.loud("x");
    },
  });
});

test("createKernel, and the kernel", async () => {
  const k: Kernel = createKernel({ plugins: [], handlerLimit: 5 });
  // @ts-expect-error plugins must be given
  createKernel({});
  // @ts-expect-error no such option
  createKernel({ plugins: [], handlerLimt: 5 });
  expectTypeOf(k.fs.read("/a")).toEqualTypeOf<Promise<string>>();
  // @ts-expect-error a path is needed
  k.fs.read();
  k.fs.as({ name: "a", groups: [], kind: "agent" });
  // @ts-expect-error no such kind
  k.fs.as({ name: "a", groups: [], kind: "root" });
  expectTypeOf(k.late(new Error())).toEqualTypeOf<boolean>();
  await using _closed = k;
});

test("errors", () => {
  expectTypeOf(new OllieError("E_CONFIG", "x").code).toExtend<string>();
  // @ts-expect-error no such code
  new OllieError("E_NOSUCH", "x");
  assertType<Error>(new NineError("permission denied"));
  // @ts-expect-error a text
  new NineError();
});
