import { describe, expect, test } from "vitest";
import { type Base, dir, each, leaf, type Node, Root, type UseOptions } from "#core";
import { failure, keptLog, kernelOf, plug, started } from "../kit.ts";

const file = (name: string, text = "x") => leaf<Base>(name, { doc: "A file.", read: () => text });
const PerRoom = Root.instances<{ name: string }>()("room/{name}", "room");
const hall = { name: "hall" };
const rooms = (...children: Parameters<typeof each<Base & { room: { name: string } }, Base, { name: string }>>[2][]) =>
  dir<Base>(
    "room",
    { doc: "Rooms." },
    each(
      PerRoom,
      { list: () => [hall], get: (_c, name) => (name === "hall" ? hall : undefined), name: (room) => room.name },
      ...children,
    ),
  );
const mounts = (name: string, nodes: Node<Base>[], use: UseOptions = {}) =>
  plug(name, ({ mount }) => mount(Root, ...nodes), {}, use);

describe("where two plugins meet", () => {
  test("directories become one", async () => {
    const k = await started([mounts("a", [dir("d", {}, file("x"))]), mounts("b", [dir("d", {}, file("y"))])]);
    expect(await k.fs.ls("/d")).toEqual(["x", "y"]);
  });

  test.each([
    ["file and file", [file("d")], [file("d")], "b: /d is already served by a"],
    [
      "a file in a shared directory",
      [dir("d", {}, file("x"))],
      [dir("d", {}, file("x"))],
      "b: /d/x is already served by a",
    ],
    ["file and directory", [file("d")], [dir("d", {}, file("x"))], "b: /d is already served as a file by a"],
    ["directory and file", [dir("d", {}, file("x"))], [file("d")], "b: /d is already served by a"],
    ["each and each", [rooms()], [rooms()], "b: instances of /room/{name} are already served by a"],
    [
      "attributes and attributes",
      [dir("d", { mode: 0o700 }, file("x"))],
      [dir("d", { mode: 0o755 }, file("y"))],
      "b: attributes of /d are already set by a",
    ],
  ])("%s is a conflict that names both", async (_what, first, second, message) => {
    const error = await kernelOf([mounts("a", first), mounts("b", second)])
      .start()
      .catch((cause) => cause);
    expect(error.code).toBe("E_CONFLICT");
    expect(error.message).toContain(message);
  });

  test("attributes are set once, by whichever plugin has them, and children of both stay", async () => {
    const k = await started([
      mounts("a", [dir("d", {}, file("x"))]),
      mounts("b", [dir("d", { mode: 0o700, doc: "Ours." }, file("y"))]),
      mounts("c", [dir("d", {}, file("z"))]),
    ]);
    expect((await k.fs.stat("/d")).mode).toBe(0o700);
    expect(await k.fs.ls("/d")).toEqual(["x", "y", "z"]);
  });

  test("a plugin conflicts with itself, too", async () => {
    expect(await failure(() => kernelOf([mounts("a", [file("x"), file("x")])]).start())).toContain(
      "a: /x is already served by a",
    );
  });
});

describe("the user's word", () => {
  test("rename moves a file and settles the conflict", async () => {
    const k = await started([
      mounts("a", [file("x", "a's")]),
      mounts("b", [file("x", "b's")], { rename: { "/x": "/x2" } }),
    ]);
    expect([await k.fs.read("/x"), await k.fs.read("/x2")]).toEqual(["a's", "b's"]);
  });

  test("rename moves a directory with all that is in it", async () => {
    const k = await started([mounts("a", [dir("d", {}, file("x"))], { rename: { "/d": "/e" } })]);
    expect(await k.fs.read("/e/x")).toBe("x");
    expect(await k.fs.ls("/")).toEqual(["e"]);
  });

  test("instances go with a directory that was renamed", async () => {
    const k = await started([
      mounts("a", [rooms(leaf("x", { doc: "x", read: (c) => c.room.name }))], { rename: { "/room": "/zimmer" } }),
      plug("b", ({ mount }) => mount(PerRoom, file("y") as Node<Base & { room: { name: string } }>)),
    ]);
    expect(await k.fs.read("/zimmer/hall/x")).toBe("hall");
    expect(await k.fs.read("/zimmer/hall/y")).toBe("x");
  });

  test("without leaves files and whole directories out", async () => {
    const k = await started([mounts("a", [file("x"), file("y"), dir("d", {}, file("z"))], { without: ["/x", "/d"] })]);
    expect(await k.fs.ls("/")).toEqual(["y"]);
  });

  test("rename stays within the directory", async () => {
    const k = kernelOf([mounts("a", [dir("d", {}, file("x"))], { rename: { "/d/x": "/x" } })]);
    expect(await failure(() => k.start())).toContain("a: rename of /d/x leaves its directory (/x)");
  });

  test("a name that is not legal is refused in a rename, too", async () => {
    const k = kernelOf([mounts("a", [file("x")], { rename: { "/x": "/{y}" } })]);
    expect(await failure(() => k.start())).toContain("a: rename of /x: /{y} is not a legal name");
  });

  test.each<UseOptions>([{ rename: { "/nosuch": "/x2" } }, { without: ["/nosuch"] }])(
    "a path that the plugin does not serve is an error: %o",
    async (use) => {
      expect(await failure(() => kernelOf([mounts("a", [file("x")], use)]).start())).toBe(
        "a: the config renames or leaves out /nosuch, which it does not serve",
      );
    },
  );
});

describe("a fragment whose scope nobody serves", () => {
  const guest = plug("guest", ({ mount }) => mount(PerRoom, leaf("x", { doc: "x", read: (c) => c.room.name })));

  test("waits: the rest is served, the log and the status say so", async () => {
    const { log, lines } = keptLog();
    const k = await started([guest, mounts("a", [file("y")])], { log });
    expect(await k.fs.ls("/")).toEqual(["y"]);
    expect(k.status()[0]).toMatchObject({ state: "running", mounts: [], waiting: ["/room/{name}"] });
    expect(lines).toContain("warn nothing serves /room/{name}: files of guest wait");
  });

  test("is there when somebody does, whatever the order in the config", async () => {
    const k = await started([guest, mounts("host", [rooms()])]);
    expect(await k.fs.read("/room/hall/x")).toBe("hall");
    expect(k.status()[0]).toMatchObject({ waiting: [], mounts: ["/room/{name}/x"] });
  });

  test("blocks the plugin where it needs the scope", async () => {
    const needy = plug("needy", () => {}, { needs: [PerRoom] });
    const k = await started([needy, mounts("a", [file("y")])]);
    expect(k.status()[0]).toMatchObject({
      state: "blocked",
      error: "needy: needs scope /room/{name}, which no enabled plugin provides",
    });
  });
});

test("a policy plugin can tighten modes through the hook spec", async () => {
  const { spec } = await import("#core");
  const policy = plug("policy", ({ on }) =>
    on(spec, (fragments) =>
      fragments.map((one) => ({
        ...one,
        nodes: one.nodes.map((n) => (n.kind === "leaf" ? { ...n, spec: { ...(n.spec as object), mode: 0o400 } } : n)),
      })),
    ),
  );
  const k = await started([policy, mounts("a", [file("x")])]);
  expect((await k.fs.stat("/x")).mode).toBe(0o400);
});
