/**
 * A 9P2000 server for one connection: section 5 of the Plan 9 manual over the tree. What can be answered at once is
 * answered within the tick; no request blocks another, but for the order rules of a single fid.
 */
import type { Duplex } from "node:stream";
import { cutText, messageOf, NineError, Rerror } from "../errors.ts";
import type { Principal, Tree } from "../tree/index.ts";
import { decode, type Msg, type MsgOf, NOFID, ProtocolError, type Tmsg } from "./codec.ts";
import { type Fid, isOpen, newFid, qidOf } from "./fid.ts";
import { framer } from "./frame.ts";
import { limits, overLimit } from "./limits.ts";
import { Numbered } from "./numbered.ts";
import { output } from "./out.ts";
import { type FidMsg, perform, type Session } from "./perform.ts";
import { block, type Line, newLine, type Request, requests } from "./requests.ts";

export interface ServeOptions {
  tree: () => Tree;
  /** Who attaches; a promise holds the connection up, a text refuses. */
  attach(uname: string, aname: string): Principal | string | Promise<Principal | string>;
  /** What went wrong below the protocol: logged. */
  onError(message: string): void;
}

export interface Connection {
  /** Ends it: nothing uncommitted takes effect. */
  close(): void;
}

/** Serves until the other side hangs up or `close` is called. */
export function serve(duplex: Duplex, options: ServeOptions): Connection {
  const out = output(duplex, hear);
  const pending = requests(out.send, () => session);
  const fids = new Numbered<Fid>();
  /** What waits for a pending attach. */
  const gate = newLine();
  /** Bytes of writes that wait in lines. */
  let waiting = 0;
  let paused = false;
  let closed = false;

  const fail = (request: Request, error: unknown) =>
    pending.reply(request, {
      type: "Rerror",
      tag: request.tag,
      ename: cutText(messageOf(error), Math.min(session.msize - 9, 0xffff)),
    });
  // No getters: an object that has some is a dictionary, 300 bytes for each connection.
  const session: Session = { tree: options.tree, msize: 0, fids, reply: pending.reply, fail, room: out.room };

  /** Ends all that is pending and open; nothing uncommitted takes effect. */
  function reset(reason: string): void {
    const all = fids.clear();
    for (const line of [gate, ...all.map((fid) => fid.line)]) {
      if (!line) continue;
      line.busy = undefined;
      line.waiting.length = 0;
    }
    waiting = 0;
    pending.reset(new NineError(reason));
    for (const fid of all) fid.file?.close(false, { ok() {}, fail() {} });
  }

  function version(msg: MsgOf<"Tversion">): void {
    reset("session reset");
    session.msize = 0;
    const size = Math.min(msg.msize, limits.maxMsize);
    if (size < limits.minMsize) return refuse(msg.tag, `msize: ${size} is under the least of ${limits.minMsize}`);
    const known = msg.version === "9P2000" || msg.version.startsWith("9P2000.");
    if (known) session.msize = size;
    out.send({ type: "Rversion", tag: msg.tag, msize: size, version: known ? "9P2000" : "unknown" });
  }

  const refuse = (tag: number, ename: string) => out.send({ type: "Rerror", tag, ename });

  /**
   * A message: at once, or behind what a pending attach or its fid holds up. From here on its type is asked of the request:
   * requests are all alike, while a field of messages that differ costs a look-up each time.
   */
  function accept(msg: Tmsg): void {
    const { type, tag } = msg;
    if (type === "Tversion") return version(msg as MsgOf<"Tversion">);
    if (session.msize === 0) return refuse(tag, "no version was negotiated");
    let request: Request;
    try {
      request = pending.begin(type, tag);
    } catch (error) {
      return refuse(tag, messageOf(error));
    }
    if (type === "Tflush") return pending.flush((msg as MsgOf<"Tflush">).oldtag, request);
    // The number is free on receipt and the message can not be undone, whatever becomes of it.
    if (ends(request)) request.fixed = true;
    if (isBusy(gate)) wait(gate, msg, request, dispatch);
    else dispatch(msg, request);
  }

  /** Runs `act` now; what it throws is the reply. */
  function dispatch(msg: Tmsg, request: Request): void {
    try {
      if (request.type === "Tattach") attach(msg as MsgOf<"Tattach">, request);
      else if (request.type === "Tauth") throw new NineError(Rerror.noAuth);
      else onFid(msg as FidMsg, request);
    } catch (error) {
      failed(msg, request, error);
    }
  }

  function failed(msg: Tmsg, request: Request, error: unknown): void {
    if (!(error instanceof NineError)) options.onError(`9p ${msg.type}: ${messageOf(error)}`);
    fail(request, error);
  }

  function onFid(msg: FidMsg, request: Request): void {
    const number = msg.fid;
    const fid = fids.get(number);
    if (!fid) throw new NineError(Rerror.unknownFid);
    if (ends(request)) fids.delete(number);
    if (!fid.line || !isBusy(fid.line)) return perform(session, msg, fid, request);
    wait(fid.line, msg, request, (mine) => {
      try {
        perform(session, mine, fid, request);
      } catch (error) {
        failed(mine, request, error);
      }
    });
    // Messages behind it may name the fid that it makes.
    if (msg.type === "Twalk" && !isOpen(fid)) block(gate, request);
  }

  /** Puts a message, with bytes of its own (they are a view of the receive buffer), into a line. */
  function wait<M extends Tmsg>(line: Line, msg: M, request: Request, run: (msg: M, request: Request) => void): void {
    const size = msg.type === "Twrite" ? msg.data.length : 0;
    const mine = msg.type === "Twrite" ? { ...msg, data: Uint8Array.prototype.slice.call(msg.data) } : msg;
    waiting += size;
    line.waiting.push({
      run() {
        waiting -= size;
        if (paused) process.nextTick(hear);
        if (!request.done) run(mine, request);
      },
    });
  }

  function attach(msg: MsgOf<"Tattach">, request: Request): void {
    if (msg.afid !== NOFID) throw new NineError(Rerror.noAuth);
    if (fids.get(msg.fid) || msg.fid === NOFID) throw new NineError(Rerror.dupFid);
    if (fids.size >= limits.fids) throw overLimit("fids");
    if (msg.aname !== "" && msg.aname !== "/") throw new NineError(`aname ${JSON.stringify(msg.aname)} is not served`);
    const settle = (who: Principal | string) => {
      if (request.done) return;
      if (typeof who === "string") return fail(request, who);
      const { root } = options.tree();
      fids.set(msg.fid, newFid(root, who));
      pending.reply(request, { type: "Rattach", tag: msg.tag, qid: qidOf(options.tree(), root, who) });
    };
    const who = options.attach(msg.uname, msg.aname);
    if (!(who instanceof Promise)) return settle(who);
    request.fixed = true;
    block(gate, request);
    who.then(settle, (error) => failed(msg, request, error));
  }

  const isFull = () => out.unsent() > limits.pauseOver || waiting > limits.pauseOver;
  const incoming = framer(
    (buf, start, end) => {
      if (closed) return;
      let msg: Msg;
      try {
        msg = decode(buf, start, end);
        // Replies have odd numbers.
        if ((buf[start + 4] as number) & 1) throw new ProtocolError(`${msg.type} is not a request`, msg.tag);
      } catch (error) {
        const tag = error instanceof ProtocolError ? error.tag : undefined;
        if (tag === undefined) throw error;
        return refuse(tag, messageOf(error));
      }
      accept(msg as Tmsg);
    },
    () => session.msize || limits.maxMsize,
    isFull,
  );

  function receive(act: () => void): void {
    out.hold();
    try {
      act();
    } catch (error) {
      options.onError(`9p: ${messageOf(error)}; the connection is closed`);
      end("protocol error");
    }
    out.release();
  }

  /** Goes on where too much was unsent: a client that asks without reading is not heard until it has read. */
  function hear(): void {
    while (!closed && !isFull() && incoming.kept()) receive(incoming.resume);
    if (paused === isFull()) return;
    paused = !paused;
    if (paused) duplex.pause();
    else duplex.resume();
  }

  /** Ends the session; what was answered still leaves. */
  function end(reason: string): void {
    if (closed) return;
    closed = true;
    reset(reason);
    process.nextTick(() => duplex.end(() => duplex.destroy()));
  }

  duplex.on("data", (chunk: Buffer) => {
    if (closed) return;
    receive(() => incoming.push(chunk));
    hear();
  });
  duplex.on("error", () => end("connection lost"));
  duplex.on("end", () => end("connection ended"));
  duplex.on("close", () => end("connection closed"));
  return {
    close() {
      end("server closed the connection");
      duplex.destroy();
    },
  };
}

/** Whether it takes its fid away. */
const ends = ({ type }: Request): boolean => type === "Tclunk" || type === "Tremove";

const isBusy = (line: Line): boolean => line.busy !== undefined || line.waiting.length > 0;
