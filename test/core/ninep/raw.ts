/** A raw 9P connection: messages out, messages in, and nothing read while it is told not to. */
import type { Duplex } from "node:stream";
import { decode, encode, type Msg, NOFID, NOTAG, type Rmsg, type Tmsg } from "../../../core/ninep/codec.ts";
import { framer } from "../../../core/ninep/frame.ts";

export interface Raw {
  readonly duplex: Duplex;
  /** Sends all in one write. */
  send(...messages: Tmsg[]): void;
  /** The next reply that is not taken yet; undefined: the connection ended. */
  next(): Promise<Rmsg | undefined>;
  /** `count` replies. */
  take(count: number): Promise<Rmsg[]>;
  /** Sends one and takes one. */
  ask(message: Tmsg): Promise<Rmsg | undefined>;
  /** Tversion and Tattach of fid 0. */
  hello(uname?: string, msize?: number): Promise<void>;
  /** Walks from fid 0 and opens. */
  open(fid: number, path: string, mode?: number): Promise<void>;
}

export function raw(duplex: Duplex): Raw {
  const queue: (Rmsg | undefined)[] = [];
  /** What is taken already: a shift of a long array moves all of it. */
  let taken = 0;
  let wake: (() => void) | undefined;
  const put = (msg: Rmsg | undefined) => {
    queue.push(msg);
    wake?.();
  };
  const frames = framer(
    (buf, from, to) => put(own(decode(buf, from, to)) as Rmsg),
    () => 1 << 24,
  );
  duplex.on("data", (chunk: Buffer) => frames.push(chunk));
  duplex.on("error", () => {});
  duplex.once("close", () => put(undefined));
  const self: Raw = {
    duplex,
    send: (...messages) => void duplex.write(Buffer.concat(messages.map(encode))),
    async next() {
      while (queue.length === taken)
        await new Promise<void>((done) => {
          wake = done;
        });
      return queue[taken++];
    },
    async take(count) {
      const all: Rmsg[] = [];
      while (all.length < count) {
        const one = await self.next();
        if (!one) throw new Error(`the connection ended after ${all.length} of ${count} replies`);
        all.push(one);
      }
      return all;
    },
    ask(message) {
      self.send(message);
      return self.next();
    },
    async hello(uname = "glenda", msize = 65560) {
      await self.ask({ type: "Tversion", tag: NOTAG, msize, version: "9P2000" });
      const reply = await self.ask({ type: "Tattach", tag: 0, fid: 0, afid: NOFID, uname, aname: "" });
      if (reply?.type !== "Rattach") throw new Error(`attach: ${JSON.stringify(reply)}`);
    },
    async open(fid, path, mode = 0) {
      const names = path.split("/").filter(Boolean);
      const walk: Tmsg = { type: "Twalk", tag: 0, fid: 0, newfid: fid, wname: names };
      self.send(walk, { type: "Topen", tag: 1, fid, mode });
      const opened = (await self.take(2))[1];
      if (opened?.type !== "Ropen") throw new Error(`open ${path}: ${JSON.stringify(opened)}`);
    },
  };
  return self;
}

/** Data views the chunk: what is kept owns its bytes. */
const own = (msg: Msg): Msg => (msg.type === "Rread" ? { ...msg, data: Buffer.from(msg.data) } : msg);
