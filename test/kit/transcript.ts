/**
 * Conversations in 9P as tests and as documentation. Each line is one message, its type and then its fields by name:
 *
 *     Twalk tag 1 fid 1 newfid 2 wname session s1
 *     Rwalk tag 1 wqid _
 *
 * `_` stands for whatever comes. T-lines that follow each other leave in one write. An R-line must match the next message
 * that arrives. Strings with spaces or escapes are JSON. `@ name words` calls one of the caller's actions; `#` is a comment;
 * `hangup` expects the server to close, `quiet` that nothing arrived.
 */
import type { Duplex } from "node:stream";
import { decode, encode, type Msg, type Stat } from "../../core/ninep/codec.ts";
import { framer } from "../../core/ninep/frame.ts";

export type Actions = Record<string, (...words: string[]) => void | Promise<void>>;

/** Throws Error naming the line at which the conversation went another way. */
export async function runTranscript(script: string, duplex: Duplex, actions: Actions = {}): Promise<void> {
  const inbox = receiver(duplex);
  let batch: Buffer[] = [];
  const flush = () => {
    if (batch.length > 0) duplex.write(Buffer.concat(batch));
    batch = [];
  };
  const lines = script.split("\n");
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    const fail = (why: string) => new Error(`line ${index + 1}: ${line}: ${why}`);
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith("T")) {
      batch.push(encode(parse(line)));
      continue;
    }
    flush();
    if (line.startsWith("@")) {
      const [name = "", ...words] = split(line.slice(1).trim());
      const action = actions[name];
      if (!action) throw fail("no such action");
      await action(...words);
    } else if (line === "hangup") {
      if ((await inbox.next()) !== undefined) throw fail("got a message");
    } else if (line === "quiet") {
      const got = await inbox.quiet();
      if (got) throw fail(`got ${show(got)}`);
    } else {
      const got = await inbox.next();
      if (!got) throw fail("the connection ended");
      if (!matches(parse(line), got)) throw fail(`got ${show(got)}`);
    }
  }
  flush();
  const left = await inbox.quiet();
  if (left) throw new Error(`after the last line: got ${show(left)}`);
}

function receiver(duplex: Duplex) {
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
  const arrived = (ms: number) =>
    new Promise<void>((done, reject) => {
      const timer = ms > 0 ? setTimeout(() => reject(new Error("no reply in 5 s")), ms) : undefined;
      wake = () => {
        clearTimeout(timer);
        wake = undefined;
        done();
      };
    });
  return {
    async next(): Promise<Msg | undefined> {
      if (queue.length === 0) await arrived(5000);
      return queue.shift();
    },
    /** Lets everything that is under way arrive; gives what did. */
    async quiet(): Promise<Msg | undefined> {
      for (let i = 0; i < 20; i++) await new Promise((done) => setImmediate(done));
      return queue.shift();
    },
  };
}

const split = (line: string): string[] => line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
const textOf = (word: string): string => (word.startsWith('"') ? JSON.parse(word) : word);

const texts = new Set(["version", "uname", "aname", "ename", "name", "uid", "gid", "muid"]);
const lists = new Set(["wname", "wqid"]);
const any = Symbol("any");

const untouched: Stat = {
  type: 0xffff,
  dev: 0xffffffff,
  qid: { type: 0xff, vers: 0xffffffff, path: Number.MAX_SAFE_INTEGER },
  mode: 0xffffffff,
  atime: 0xffffffff,
  mtime: 0xffffffff,
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
    else if (key === "stat") msg[key] = words[0] === "_" ? any : stat(words);
    else msg[key] = value(key, words.shift() as string);
    if (lists.has(key) || key === "stat") break;
  }
  return msg as unknown as Msg;
}

function value(key: string, word: string): unknown {
  if (word === "_") return any;
  if (key === "data") return Buffer.from(textOf(word), "utf8");
  if (key === "qid") return qid(word);
  if (key === "tag" && word === "NOTAG") return 0xffff;
  if (word === "NOFID") return 0xffffffff;
  return texts.has(key) ? textOf(word) : Number(word);
}

/** `d1.0`: a directory of path 1, vers 0; `f_._`: any file. */
function qid(word: string): unknown {
  const [, kind, path, vers] = /^([df_])(\w+|_)\.(\w+|_)$/.exec(word) ?? [];
  const number = (text: string | undefined) => (text === "_" ? any : Number(text));
  return { type: kind === "_" ? any : kind === "d" ? 0x80 : 0, path: number(path), vers: number(vers) };
}

function stat(words: string[]): unknown {
  const fields: Record<string, unknown> = { ...untouched };
  while (words.length > 0) {
    const key = words.shift() as string;
    fields[key] = value(key, words.shift() as string);
  }
  return fields;
}

function matches(want: unknown, got: unknown): boolean {
  if (want === any) return true;
  if (want instanceof Uint8Array) return got instanceof Uint8Array && Buffer.compare(want, got) === 0;
  if (Array.isArray(want))
    return Array.isArray(got) && want.length === got.length && want.every((w, i) => matches(w, got[i]));
  if (typeof want !== "object" || want === null) return want === got;
  return Object.entries(want).every(([key, w]) => matches(w, (got as Record<string, unknown>)[key]));
}

const show = (msg: Msg): string =>
  JSON.stringify(msg, (_key, v) => (v?.type === "Buffer" ? Buffer.from(v.data).toString("utf8") : v));
