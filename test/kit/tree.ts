/** A tree that exercises what ollie's own files do not have: bytes at offsets, slow handlers, every kind of file. */
import { bus, definePlugin, dir, each, leaf, NineError, type Principal, Root, waiters } from "#core";

export interface Box {
  readonly id: string;
  name: string;
  text: string;
}

export const PerBox = Root.instances<Box>()("box/{name}", "box");

/** What a test pulls while clients are connected. */
export interface Strings {
  publish(text: string): void;
  /** Sets what `now` holds and wakes `next`. */
  set(text: string): void;
  /** Lets the one that waits longest go on: a read or write of `slow`, a rename to `slow…`, an attach of `waits`. */
  release(): void;
  readonly held: (() => void)[];
  /** Writes that `slow` has finished, in order. */
  readonly slow: string[];
  readonly boxes: Map<string, Box>;
  readonly aborted: string[];
}

export function testTree(): { strings: Strings; plugin: ReturnType<ReturnType<typeof make>> } {
  const held: (() => void)[] = [];
  const news = bus();
  const changed = waiters();
  let now = "start";
  const strings: Strings = {
    publish: (text) => news.publish(text),
    set(text) {
      now = text;
      changed.wakeAll();
    },
    release: () => held.shift()?.(),
    held,
    slow: [],
    boxes: new Map([["one", { id: "1", name: "one", text: "" }]]),
    aborted: [],
  };
  const hold = (signal: AbortSignal, what: string) =>
    new Promise<void>((go, reject) => {
      held.push(go);
      signal.addEventListener("abort", () => {
        strings.aborted.push(what);
        reject(signal.reason);
      });
    });
  const next = async (last: string): Promise<string> => {
    while (now === last) await new Promise<void>((wake) => changed.add(wake));
    return now;
  };
  return {
    strings,
    plugin: make(
      strings,
      hold,
      () => now,
      next,
      () => news.subscribe(),
    )(),
  };
}

/** Who attaches by which uname: `glenda` is the user, `waits` is asked for until `release`, `nobody` is refused, others are agents. */
export function judge(strings: Strings) {
  return ({ uname }: { uname: string }): Principal | string | Promise<Principal | string> => {
    if (uname === "nobody") return "attach: nobody is not known here";
    const who: Principal = { name: uname, groups: [uname], kind: uname === "glenda" ? "user" : "agent" };
    if (uname !== "waits") return who;
    return new Promise((admit) => strings.held.push(() => admit({ ...who, name: "glenda", kind: "user" })));
  };
}

type Subscribe = () => ReturnType<ReturnType<typeof bus>["subscribe"]>;

const make = (
  strings: Strings,
  hold: (signal: AbortSignal, what: string) => Promise<void>,
  now: () => string,
  next: (last: string) => Promise<string>,
  subscribe: Subscribe,
) =>
  definePlugin({
    name: "testtree",
    doc: "Files for tests of the transport.",
    provides: [PerBox],
    setup({ mount, end }) {
      let committed = "";
      let count = 0;
      const text = (name: string) => ({ doc: name, read: () => `${name}\n` });
      mount(
        Root,
        leaf("hello", { doc: "static", read: () => "hello, world\n", size: () => 13 }),
        leaf("slow", {
          doc: "waits for release",
          read: async (c) => {
            await hold(c.signal, "read");
            return "slow\n";
          },
          write: async (c, data) => {
            const text = Buffer.from(data).toString("utf8");
            await hold(c.signal, `write ${text}`);
            strings.slow.push(text);
          },
        }),
        leaf("commit", {
          doc: "takes effect at the clunk",
          commit: "close",
          max: 16,
          read: () => committed,
          write: (_c, data) => {
            if (Buffer.from(data).toString("utf8") === "bad") throw new NineError("bad is refused");
            committed = Buffer.from(data).toString("utf8");
          },
        }),
        leaf("ctl", {
          doc: "echoes",
          rdwr: (_c, body) => {
            if (!body) return "usage: a word\n";
            const word = Buffer.from(body).toString("utf8");
            // Does not ask for its signal, so a flush can not stop it.
            return word === "wait" ? new Promise((go) => strings.held.push(() => go("did wait"))) : `did ${word}`;
          },
        }),
        leaf("ask", {
          doc: "answers a body",
          request: async function* (_c: unknown, body?: Uint8Array) {
            if (!body) return yield "usage: any text\n";
            for (const word of Buffer.from(body).toString("utf8").split(" ")) yield `${word}.`;
          } as (c: unknown, body?: Uint8Array) => AsyncIterable<string>,
        }),
        leaf("news", { doc: "what is published", stream: () => subscribe() }),
        leaf("next", {
          doc: "the next value",
          blockOnce: (_c, last) => next(last === undefined ? now() : String(last)),
        }),
        leaf("broken", {
          doc: "throws",
          read: () => {
            throw new TypeError("x is undefined");
          },
        }),
        leaf("secret", { doc: "nobody's", mode: 0o600, read: () => "secret\n", write: () => {} }),
        leaf("forbidden", { doc: "for users", read: () => "", deny: () => "forbidden: only the user reads it" }),
        leaf("changes", { doc: "another text each time", read: () => `${++count}\n` }),
        leaf("moves", { doc: "tells its version", read: () => now(), vers: () => now().length }),
        leaf("long", { doc: "100,000 bytes", read: () => "0123456789".repeat(10_000), size: () => 100_000 }),
        leaf("refused", {
          doc: "a long refusal",
          read: () => {
            throw new NineError(`refused: ${"é".repeat(40_000)}`);
          },
        }),
        dir("locked", { mode: 0o700, doc: "the owner's" }, leaf("inside", { doc: "in it", read: () => "in\n" })),
        dir("many", { doc: "three files" }, ...["first", "second", "third"].map((name) => leaf(name, text(name)))),
        dir(
          "box",
          { doc: "boxes" },
          each(
            PerBox,
            {
              list: () => strings.boxes.values(),
              get: (_c, name) => strings.boxes.get(name) ?? [...strings.boxes.values()].find((box) => box.id === name),
              name: (box) => box.name,
              rename: async (box, name) => {
                if (name.startsWith("slow")) await hold(new AbortController().signal, "rename");
                if (strings.boxes.has(name)) throw new NineError("file already exists");
                strings.boxes.delete(box.name);
                box.name = name;
                strings.boxes.set(name, box);
              },
              remove: (box) => {
                strings.boxes.delete(box.name);
                end(PerBox, box);
              },
            },
            leaf("text", {
              doc: "its text",
              read: (c) => c.box.text,
              write: (c, data) => {
                c.box.text += Buffer.from(data).toString("utf8");
              },
            }),
            leaf("follow", { doc: "ends with the box", stream: () => subscribe() }),
          ),
        ),
      );
    },
  });
