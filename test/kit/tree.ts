/** A tree that exercises what ollie's own files do not have: bytes at offsets, slow handlers, every kind of file. */
import { bus, definePlugin, dir, each, leaf, NineError, Root, waiters } from "#core";

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
  /** Lets one waiting `slow` read or write go on. */
  release(): void;
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
          rdwr: (_c, body) => (body ? `did ${Buffer.from(body).toString("utf8")}` : "usage: a word\n"),
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
        dir(
          "box",
          { doc: "boxes" },
          each(
            PerBox,
            {
              list: () => strings.boxes.values(),
              get: (_c, name) => strings.boxes.get(name) ?? [...strings.boxes.values()].find((box) => box.id === name),
              name: (box) => box.name,
              rename: (box, name) => {
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
