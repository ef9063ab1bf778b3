import { expect, test } from "vitest";
import { type Base, dir, each, type LeafSpec, leaf, type Node, Root } from "#core";
import { failure, kernelOf, plug } from "../kit.ts";

const read = () => "x";
const write = () => {};
/** Mistakes that the types refuse and JavaScript does not. */
const loose = (spec: unknown) => spec as LeafSpec<Base>;
const PerRoom = Root.instances<{ name: string }>()("room/{name}", "room");
const instances = { list: () => [], get: () => undefined, name: (v: { name: string }) => v.name };

const faultOf = (node: Node<Base>) =>
  failure(() => kernelOf([plug("bad", ({ mount }) => mount(Root, node), { provides: [PerRoom] })]).start());

test.each<[string, Node<Base>, string]>([
  ["an empty name", leaf("", { doc: "x", read }), "bad: /: is not a legal name"],
  ["a slash", leaf("a/b", { doc: "x", read }), "bad: /a/b: is not a legal name"],
  ["dot dot", leaf("..", { doc: "x", read }), "bad: /..: is not a legal name"],
  ["a control character", leaf("a\nb", { doc: "x", read }), "is not a legal name"],
  ["a brace", leaf("{a}", { doc: "x", read }), "bad: /{a}: is not a legal name"],
  ["65 characters", leaf("a".repeat(65), { doc: "x", read }), "is not a legal name"],
  ["no handler", leaf("a", { doc: "x" }), "bad: /a: a file needs a handler"],
  ["no doc", leaf("a", loose({ read })), "bad: /a: a file needs a doc"],
  ["a blank doc", leaf("a", { doc: " ", read }), "bad: /a: a file needs a doc"],
  ["no spec", leaf("a", loose(undefined)), "bad: /a: a file needs a doc and a handler"],
  ["a handler that is no function", leaf("a", loose({ doc: "x", read: "text" })), "bad: /a: read is not a function"],
  [
    "stream and blockOnce",
    leaf("a", loose({ doc: "x", stream: read, blockOnce: read })),
    "bad: /a: stream and blockOnce exclude each other",
  ],
  ["read and stream", leaf("a", loose({ doc: "x", read, stream: read })), "read and a blocking handler exclude"],
  ["request and rdwr", leaf("a", { doc: "x", request: read, rdwr: read }), "request and rdwr exclude each other"],
  ["rdwr and write", leaf("a", { doc: "x", rdwr: read, write }), "rdwr excludes other handlers (write)"],
  ["request and read", leaf("a", { doc: "x", request: read, read }), "request excludes other handlers (read)"],
  ["commit without write", leaf("a", { doc: "x", read, commit: "close" }), "commit needs write"],
  ["check without commit close", leaf("a", { doc: "x", write, check: write }), "check needs commit close"],
  ["a mode with high bits", leaf("a", { doc: "x", read, mode: 0o1444 }), "mode 1444 has bits over 0777"],
  ["a readable mode", leaf("a", { doc: "x", write, mode: 0o666 }), "its mode allows reading, but no handler reads"],
  ["a writable mode", leaf("a", { doc: "x", read, mode: 0o644 }), "its mode allows writing, but no handler writes"],
  ["a foreign node", { kind: "file" } as unknown as Node<Base>, "bad: /: is not made by leaf, dir or each"],
  ["no node", undefined as unknown as Node<Base>, "bad: /: is not made by leaf, dir or each"],
  [
    "each without functions",
    dir("room", {}, each(PerRoom, {} as typeof instances)),
    "bad: /room/{name}: each needs list\nbad: /room/{name}: each needs get\nbad: /room/{name}: each needs name",
  ],
  [
    "each in the wrong place",
    dir("hall", {}, each(PerRoom, instances)),
    "bad: /room/{name}: its each stands in /hall, not in /room",
  ],
  [
    "two each",
    dir("room", {}, each(PerRoom, instances), each(PerRoom, instances)),
    "bad: /room: a directory has at most one each",
  ],
  [
    "an each whose key is the context's own",
    dir("room", {}, each(Root.instances<{ name: string }>()("room/{name}", "path"), instances)),
    'its key "path" is no name for an instance',
  ],
])("%s is refused with the plugin's name", async (_what, node, message) => {
  expect(await faultOf(node)).toContain(message);
});

test("all faults of all plugins are reported together, and nothing is left running", async () => {
  let undone = 0;
  const one = plug("one", ({ mount, defer }) => {
    defer(() => void undone++);
    mount(Root, leaf("a", { doc: "x" }), dir("b", {}, leaf("", { doc: "x", read })));
  });
  const two = plug("two", ({ mount }) => mount(Root, leaf("c", loose({ read }))));
  const error = await kernelOf([one, two])
    .start()
    .catch((cause) => cause);
  expect(error.message.split("\n")).toEqual([
    "one: /a: a file needs a handler",
    expect.stringMatching(/^one: \/b\/: is not a legal name/),
    "two: /c: a file needs a doc",
  ]);
  expect(error.code).toBe("E_SPEC");
  expect(undone).toBe(1);
});

test("the mode follows the handlers where none is given", async () => {
  const { buildTree } = await import("ollie/tree");
  const user = { name: "u", groups: [], kind: "user" } as const;
  const tree = buildTree([
    leaf("r", { doc: "x", read }),
    leaf("w", { doc: "x", write }),
    leaf("rw", { doc: "x", read, write }),
    leaf("rdwr", { doc: "x", rdwr: read }),
    leaf("s", { doc: "x", blockOnce: () => new Promise<string>(() => {}) }),
  ]);
  const modes = ["r", "w", "rw", "rdwr", "s"].map((name) => tree.stat(tree.find(`/${name}`, user), user).mode);
  expect(modes).toEqual([0o444, 0o222, 0o666, 0o666, 0o444]);
});
