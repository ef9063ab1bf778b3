/**
 * Conversations in 9P as tests and as documentation. Each line is one message, its type and then its fields by name:
 *
 *     Twalk tag 1 fid 1 newfid 2 wname session s1
 *     Rwalk tag 1 wqid _
 *
 * `_` stands for whatever comes, `$name` for whatever comes the first time and for the same again later. T-lines that follow
 * each other leave in one write. An R-line must match the next message that arrives. Strings with spaces or escapes are JSON.
 * `Rstat` and `Tstat` lines name only the fields that matter; a Twstat leaves the others alone.
 *
 *     # …           a comment
 *     raw 03 00 …   bytes in hex, in place of a message; `raw "text"` are those of a JSON string
 *     > b           goes on with connection b, which is made when it is first named; the first one is a
 *     @ name words  one of the caller's actions
 *     entries a b   the Rread that comes holds the directory entries with these names; $name binds them as stats
 *     quiet         nothing has arrived
 *     hangup        the server closes the connection
 *     drop          this side closes it
 *     include name  another transcript goes here, without its comments
 */
import type { Duplex } from "node:stream";
import { decode, decodeStat, encode, type Msg, type Stat } from "../../core/ninep/codec.ts";
import { framer } from "../../core/ninep/frame.ts";

export type Actions = Record<string, (...words: string[]) => void | Promise<void>>;

export interface TranscriptOptions {
  actions?: Actions;
  /** The text of another transcript, for `include`. */
  include?: (name: string) => string;
}

/** Throws Error naming the line at which the conversation went another way. `to`: a connection, or what makes them. */
export async function runTranscript(
  script: string,
  to: Duplex | (() => Duplex),
  { actions = {}, include = () => "" }: TranscriptOptions = {},
): Promise<void> {
  const bound = new Map<string, unknown>();
  const connections = new Map<string, Wire>();
  const open = (name: string): Wire => {
    const wire = connections.get(name) ?? newWire(typeof to === "function" ? to() : to);
    connections.set(name, wire);
    return wire;
  };
  let at = open("a");
  let batch: Buffer[] = [];
  const leave = () => {
    if (batch.length > 0) at.duplex.write(Buffer.concat(batch));
    batch = [];
  };
  const step = async (line: string): Promise<void> => {
    const [head = "", ...words] = split(line);
    if (head.startsWith("T")) return void batch.push(encode(parse(line)));
    if (head === "raw") return void batch.push(rawBytes(words));
    leave();
    if (head === ">") at = open(words[0] ?? "a");
    else if (head === "@") {
      const action = actions[words[0] ?? ""];
      if (!action) throw new Error("no such action");
      await action(...words.slice(1));
    } else if (head === "hangup") {
      const got = await at.next();
      if (got) throw new Error(`got ${show(got)}`);
    } else if (head === "drop") {
      at.duplex.destroy();
      await at.quiet();
    } else if (head === "quiet") {
      const got = await at.quiet();
      if (got) throw new Error(`got ${show(got)}`);
    } else {
      const got = await at.next();
      if (!got) throw new Error("the connection ended");
      if (head === "entries") entries(got, words, bound);
      else if (!matches(parse(line), got, bound)) throw new Error(`got ${show(got)}`);
    }
  };
  const run = async (text: string, name: string): Promise<void> => {
    for (const [index, raw] of text.split("\n").entries()) {
      const line = raw.trim();
      if (line === "" || line.startsWith("#")) continue;
      if (line.startsWith("include ")) {
        const other = line.slice("include ".length);
        await run(include(other), `${other} `);
        continue;
      }
      try {
        await step(line);
      } catch (error) {
        throw new Error(`${name}line ${index + 1}: ${line}: ${(error as Error).message}`);
      }
    }
  };
  try {
    await run(script, "");
    leave();
    for (const [name, wire] of connections) {
      const left = await wire.quiet();
      if (left) throw new Error(`after the last line, on ${name}: got ${show(left)}`);
    }
  } finally {
    for (const { duplex } of connections.values()) duplex.destroy();
  }
}

interface Wire {
  duplex: Duplex;
  /** Undefined: the connection ended. */
  next(): Promise<Msg | undefined>;
  /** Lets everything that is under way arrive; gives what did. */
  quiet(): Promise<Msg | undefined>;
}

function newWire(duplex: Duplex): Wire {
  const queue: (Msg | undefined)[] = [];
  let wake: (() => void) | undefined;
  const put = (msg: Msg | undefined) => {
    queue.push(msg);
    wake?.();
  };
  const frames = framer(
    (buf, start, end) => put(decode(Buffer.from(buf.subarray(start, end)), 0, end - start)),
    () => 1 << 24,
  );
  duplex.on("data", (chunk: Buffer) => frames.push(chunk));
  duplex.on("close", () => put(undefined));
  duplex.on("end", () => put(undefined));
  duplex.on("error", () => {});
  const arrived = () =>
    new Promise<void>((done, reject) => {
      const timer = setTimeout(() => reject(new Error("no reply in 5 s")), 5000);
      wake = () => {
        clearTimeout(timer);
        wake = undefined;
        done();
      };
    });
  return {
    duplex,
    async next() {
      if (queue.length === 0) await arrived();
      return queue.shift();
    },
    async quiet() {
      for (let i = 0; i < 20; i++) await new Promise((done) => setImmediate(done));
      return queue.shift();
    },
  };
}

const split = (line: string): string[] => line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
const textOf = (word: string): string => (word.startsWith('"') ? JSON.parse(word) : word);
const rawBytes = (words: string[]): Buffer =>
  Buffer.concat(words.map((word) => (word.startsWith('"') ? Buffer.from(textOf(word)) : Buffer.from(word, "hex"))));

const texts = new Set(["version", "uname", "aname", "ename", "name", "uid", "gid", "muid"]);
const lists = new Set(["wname", "wqid"]);
const any = Symbol("any");

/** Stands for one value, the same wherever it is named. */
interface Bound {
  bound: string;
}
const isBound = (want: unknown): want is Bound => typeof want === "object" && want !== null && "bound" in want;

const untouched: Stat = {
  type: -1,
  dev: -1,
  qid: { type: -1, vers: -1, path: -1 },
  mode: -1,
  atime: -1,
  mtime: -1,
  length: -1,
  name: "",
  uid: "",
  gid: "",
  muid: "",
};

function parse(line: string): Msg {
  const [type = "", ...words] = split(line);
  const msg: Record<string, unknown> = { type };
  while (words.length > 0) {
    const key = words.shift() as string;
    if (lists.has(key)) msg[key] = words[0] === "_" ? any : words.map(key === "wname" ? textOf : qid);
    else if (key === "stat") msg[key] = stat(words, type === "Twstat");
    else msg[key] = value(key, words.shift() as string);
    if (lists.has(key) || key === "stat") break;
  }
  return msg as unknown as Msg;
}

function value(key: string, word: string): unknown {
  if (word === "_") return any;
  if (word.startsWith("$")) return { bound: word };
  if (key === "data") return Buffer.from(textOf(word), "utf8");
  if (key === "qid") return qid(word);
  if (key === "tag" && word === "NOTAG") return 0xffff;
  if (word === "NOFID") return 0xffffffff;
  if (texts.has(key)) return textOf(word);
  return Number(key === "mode" || key === "perm" ? word.replace(/^0(?=\d)/, "0o") : word);
}

/** `d1.0`: a directory of path 1, vers 0; `f_._`: any file; `$name`: a qid to be compared. */
function qid(word: string): unknown {
  if (word === "_") return any;
  if (word.startsWith("$")) return { bound: word };
  const [, kind, path, vers] = /^([df_])(\w+|_)\.(\w+|_)$/.exec(word) ?? [];
  const number = (text: string | undefined) => (text === "_" ? any : Number(text));
  return { type: kind === "_" ? any : kind === "d" ? 0x80 : 0, path: number(path), vers: number(vers) };
}

function stat(words: string[], whole: boolean): unknown {
  if (words[0] === "_") return any;
  if (words[0]?.startsWith("$")) return { bound: words[0] };
  const fields: Record<string, unknown> = whole ? { ...untouched } : {};
  while (words.length > 0) {
    const key = words.shift() as string;
    fields[key] = value(key, words.shift() as string);
  }
  return fields;
}

/** The entries of a directory read: each by its name, or by what a stat was bound to. */
function entries(got: Msg, words: string[], bound: Map<string, unknown>): void {
  if (got.type !== "Rread") throw new Error(`got ${show(got)}`);
  const data = Buffer.from(got.data);
  const found: Stat[] = [];
  for (let from = 0; from < data.length; from += 2 + data.readUInt16LE(from)) found.push(decodeStat(data, from));
  const right = (word: string, entry: Stat) =>
    word.startsWith("$") ? matches({ bound: word }, entry, bound) : textOf(word) === entry.name;
  if (found.length !== words.length || !words.every((word, i) => right(word, found[i] as Stat)))
    throw new Error(`got ${found.map(({ name }) => name).join(" ")}`);
}

function matches(want: unknown, got: unknown, bound: Map<string, unknown>): boolean {
  if (want === any) return true;
  if (isBound(want)) {
    if (bound.has(want.bound)) return matches(bound.get(want.bound), got, bound);
    bound.set(want.bound, got);
    return true;
  }
  if (want instanceof Uint8Array) return got instanceof Uint8Array && Buffer.compare(want, got) === 0;
  if (Array.isArray(want))
    return Array.isArray(got) && want.length === got.length && want.every((w, i) => matches(w, got[i], bound));
  if (typeof want !== "object" || want === null) return want === got;
  return Object.entries(want).every(([key, w]) => matches(w, (got as Record<string, unknown>)[key], bound));
}

const show = (msg: Msg): string =>
  JSON.stringify(msg, (_key, v) => (v?.type === "Buffer" ? Buffer.from(v.data).toString("utf8") : v));
