/** The rest of the public surface: streams, waiting, paths, the logger, the tree without a kernel. */
import { buildTree, createTree, lazyAbort, nameOf, pathOf } from "ollie/tree";
import { expectTypeOf, test } from "vitest";
import {
  attach,
  bus,
  configDir,
  cutText,
  dataDir,
  expandHome,
  fault,
  hook,
  KernelView,
  LogSink,
  leaf,
  messageOf,
  packageRoot,
  pluginState,
  Rerror,
  searchPath,
  silent,
  source,
  spec,
  text,
  waiters,
} from "#core";

test("bus and source are results of stream handlers", () => {
  const news = bus({ limit: 5, lost: "lost\n" });
  news.publish(new Uint8Array());
  // @ts-expect-error text or bytes
  news.publish(5);
  // @ts-expect-error no such option
  bus({ limt: 5 });
  leaf("a", { doc: "x", stream: () => news.subscribe() });
  // @ts-expect-error a text is no stream
  leaf("a", { doc: "x", stream: () => "x" });
  leaf("a", { doc: "x", stream: () => source({ take: () => null, wait: () => () => {}, close() {} }) });
  // @ts-expect-error a source can be waited for
  source({ take: () => null, close() {} });
});

test("waiters", () => {
  const all = waiters();
  expectTypeOf(all.add(() => {})).toEqualTypeOf<() => void>();
  // @ts-expect-error a function is called
  all.add(5);
});

test("text gives read and size", () => {
  leaf("a", { doc: "x", ...text((c) => `${(c as { path: string }).path}`) });
  // @ts-expect-error it is at hand: no promise
  text(async () => "x");
});

test("the kernel's own hooks, services and texts", () => {
  expectTypeOf(fault.kind).toEqualTypeOf<"observe">();
  expectTypeOf(attach.kind).toEqualTypeOf<"gate">();
  expectTypeOf(spec.kind).toEqualTypeOf<"transform">();
  expectTypeOf(pluginState.kind).toEqualTypeOf<"observe">();
  expectTypeOf(KernelView.kind).toEqualTypeOf<"token">();
  expectTypeOf(LogSink.kind).toEqualTypeOf<"token">();
  expectTypeOf(Rerror.perm).toEqualTypeOf<"permission denied">();
  // @ts-expect-error no such text
  Rerror.nosuch;
  // @ts-expect-error no such kind of hook
  hook.sometimes;
  silent.child({}).warn("x");
  // @ts-expect-error a message is needed
  silent.warn();
});

test("paths and messages", () => {
  expectTypeOf([configDir(), dataDir(), packageRoot(), expandHome("~")]).toEqualTypeOf<string[]>();
  expectTypeOf(searchPath("tools")).toEqualTypeOf<string[]>();
  // @ts-expect-error which kind?
  searchPath();
  // @ts-expect-error a path
  expandHome();
  expectTypeOf(messageOf(5)).toEqualTypeOf<string>();
  expectTypeOf(cutText("x", 5)).toEqualTypeOf<string>();
  // @ts-expect-error how long?
  cutText("x");
});

test("the tree without a kernel", () => {
  const tree = buildTree([leaf("a", { doc: "x", read: () => "x" })], { user: "glenda" });
  const user = { name: "glenda", groups: [], kind: "user" } as const;
  const node = tree.find("/a", user);
  expectTypeOf([nameOf(node), pathOf(node)]).toEqualTypeOf<string[]>();
  tree.open(node, user, { read: true, write: false, trunc: false }).read(0, 5, {
    abort: lazyAbort(),
    ok: (data) => expectTypeOf(data).toEqualTypeOf<Uint8Array>(),
    fail: (error) => expectTypeOf(error.message).toEqualTypeOf<string>(),
  });
  // @ts-expect-error who asks?
  tree.find("/a");
  // @ts-expect-error nodes come in a list
  buildTree(leaf("a", { doc: "x", read: () => "x" }));
  // @ts-expect-error where reports go is needed
  createTree({ user: "glenda" });
});
