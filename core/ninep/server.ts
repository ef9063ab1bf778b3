/**
 * A 9P2000 server for one connection: section 5 of the Plan 9 manual over the tree. What can be answered at once is
 * answered within the tick; no request blocks another, but for the order rules of a single fid.
 */
import type { Duplex } from "node:stream";
import { cutText, messageOf, NineError, Rerror } from "../errors.ts";
import type { Principal, Tree } from "../tree/index.ts";
import { decode, type MsgOf, NOFID, NOTAG, ProtocolError, type Tmsg } from "./codec.ts";
import { directoryRead, type Fid, isOpen, newFid, qidOf, statOf } from "./fid.ts";
import { framer } from "./frame.ts";
import { limits } from "./limits.ts";
import { output } from "./out.ts";
import { abortOf, type Request, requests } from "./requests.ts";
import { wstatName } from "./wstat.ts";

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
  readonly closed: boolean;
}

/** Serves until the other side hangs up or `close` is called. */
export function serve(duplex: Duplex, options: ServeOptions): Connection {
  const tree = options.tree;
  const out = output(duplex);
  const fids = new Map<number, Fid>();
  const pending = requests(out.send, flushed);
  let msize = 0;
  let closed = false;
  /** Messages that wait for a pending attach. */
  let held: Tmsg[] | undefined;

  const fail = (request: Request, error: unknown) =>
    pending.reply(request, {
      type: "Rerror",
      tag: request.tag,
      ename: cutText(messageOf(error), Math.min(msize - 9, 0xffff)),
    });

  function reset(reason: Error): void {
    pending.reset(reason);
    held = undefined;
    const all = [...fids.values()];
    fids.clear();
    for (const fid of all) {
      fid.waiting = undefined;
      fid.file?.close(false, { ok() {}, fail() {} });
    }
  }

  function version(msg: MsgOf<"Tversion">): void {
    reset(new NineError("session reset"));
    const size = Math.min(msg.msize, limits.maxMsize);
    if (size < limits.minMsize)
      return out.send({ type: "Rerror", tag: msg.tag, ename: `msize ${msg.msize} is under ${limits.minMsize}` });
    const known = msg.version === "9P2000" || msg.version.startsWith("9P2000.");
    msize = known ? size : 0;
    out.send({ type: "Rversion", tag: msg.tag, msize: size, version: known ? "9P2000" : "unknown" });
  }

  /** A message: at once, or behind what its fid or a pending attach holds up. */
  function accept(msg: Tmsg): void {
    if (msg.type === "Tversion") return version(msg);
    if (msize === 0) return out.send({ type: "Rerror", tag: msg.tag, ename: "no version negotiated" });
    if (held && msg.type !== "Tflush") return void held.push(own(msg));
    const request = msg.tag === NOTAG ? undefined : pending.begin(msg.tag);
    if (!request) return out.send({ type: "Rerror", tag: msg.tag, ename: Rerror.dupTag });
    try {
      dispatch(msg, request);
    } catch (error) {
      if (!(error instanceof NineError)) options.onError(`9p ${msg.type}: ${messageOf(error)}`);
      fail(request, error);
    }
  }

  function dispatch(msg: Exclude<Tmsg, { type: "Tversion" }>, request: Request): void {
    switch (msg.type) {
      case "Tauth":
        throw new NineError(Rerror.noAuth);
      case "Tattach":
        return attach(msg, request);
      case "Tflush":
        return pending.flush(msg.oldtag, request);
      default:
        return onFid(msg, request);
    }
  }

  type FidMsg = Exclude<Tmsg, { type: "Tversion" | "Tauth" | "Tattach" | "Tflush" }>;

  function onFid(msg: FidMsg, request: Request): void {
    const fid = fids.get(msg.fid);
    if (!fid) throw new NineError(Rerror.unknownFid);
    request.fid = fid;
    // The number is free on receipt, whatever becomes of the message.
    if (msg.type === "Tclunk" || msg.type === "Tremove") {
      fids.delete(msg.fid);
      request.fixed = true;
    }
    if (!fid.busy) return perform(msg, fid, request);
    const mine = own(msg);
    fid.waiting ??= [];
    fid.waiting.push(() => {
      if (request.done) return;
      try {
        perform(mine, fid, request);
      } catch (error) {
        fail(request, error);
      }
    });
  }

  function perform(msg: FidMsg, fid: Fid, request: Request): void {
    switch (msg.type) {
      case "Twalk":
        return walk(msg, fid, request);
      case "Topen":
        return open(msg, fid, request);
      case "Tcreate":
        throw new NineError(Rerror.noCreate);
      case "Tread":
        return read(msg, fid, request);
      case "Twrite":
        return write(msg, fid, request);
      case "Tclunk":
        return clunk(fid, request, () => pending.reply(request, { type: "Rclunk", tag: request.tag }));
      case "Tremove":
        return remove(fid, request);
      case "Tstat": {
        const stat = statOf(tree(), fid.node, fid.principal, fid.file?.length());
        return pending.reply(request, { type: "Rstat", tag: request.tag, stat });
      }
      case "Twstat":
        return wstat(msg, fid, request);
    }
  }

  function attach(msg: MsgOf<"Tattach">, request: Request): void {
    if (msg.afid !== NOFID) throw new NineError(Rerror.noAuth);
    if (fids.has(msg.fid) || msg.fid === NOFID) throw new NineError(Rerror.dupFid);
    if (msg.aname !== "" && msg.aname !== "/") throw new NineError(`aname ${JSON.stringify(msg.aname)} is not served`);
    const settle = (who: Principal | string) => {
      if (request.done) return;
      if (typeof who === "string") return fail(request, who);
      const { root } = tree();
      fids.set(msg.fid, newFid(root, who));
      pending.reply(request, { type: "Rattach", tag: msg.tag, qid: qidOf(root) });
    };
    const who = options.attach(msg.uname, msg.aname);
    if (!(who instanceof Promise)) return settle(who);
    held = [];
    request.fixed = true;
    who
      .then(settle, (error) => fail(request, error))
      .finally(() => {
        const waiting = held ?? [];
        held = undefined;
        for (const later of waiting) accept(later);
      });
  }

  function walk(msg: MsgOf<"Twalk">, fid: Fid, request: Request): void {
    const { wname, newfid } = msg;
    if (isOpen(fid)) throw new NineError(Rerror.open);
    if (newfid !== msg.fid && (fids.has(newfid) || newfid === NOFID)) throw new NineError(Rerror.dupFid);
    if (fids.size >= limits.fids) throw new NineError(Rerror.tooMany);
    let node = fid.node;
    const wqid = [];
    for (const name of wname) {
      let next: typeof node | undefined;
      try {
        if (name === "" || name === "." || name.includes("/")) throw new NineError(Rerror.notFound);
        next = tree().step(node, name, fid.principal);
        if (!next) throw new NineError(Rerror.notFound);
      } catch (error) {
        if (wqid.length === 0) throw error;
        break;
      }
      node = next;
      wqid.push(qidOf(node));
    }
    if (wqid.length === wname.length) {
      if (newfid === msg.fid) fid.node = node;
      else fids.set(newfid, newFid(node, fid.principal));
    }
    pending.reply(request, { type: "Rwalk", tag: request.tag, wqid });
  }

  function open(msg: MsgOf<"Topen">, fid: Fid, request: Request): void {
    if (isOpen(fid)) throw new NineError(Rerror.open);
    const kind = msg.mode & 3;
    const trunc = (msg.mode & 0x10) !== 0;
    if (msg.mode & ~0x53) throw new NineError(`open mode ${msg.mode} has unknown bits`);
    if (msg.mode & 0x40) throw new NineError(Rerror.perm); // ORCLOSE: files here can not be removed
    if (fid.node.spec.kind === "dir") {
      if (kind !== 0 && kind !== 3) throw new NineError(Rerror.isDir);
      if (trunc) throw new NineError(Rerror.isDir);
      fid.directory = directoryRead(tree(), fid.node, fid.principal);
    } else {
      if (kind === 3) throw new NineError(Rerror.perm); // OEXEC: no file here is a program
      if (trunc && kind === 0) throw new NineError(Rerror.perm);
      fid.file = tree().open(fid.node, fid.principal, { read: kind !== 1, write: kind !== 0, trunc });
    }
    pending.reply(request, { type: "Ropen", tag: request.tag, qid: qidOf(fid.node), iounit: msize - limits.header });
  }

  function read(msg: MsgOf<"Tread">, fid: Fid, request: Request): void {
    const count = Math.min(msg.count, msize - limits.readHeader);
    if (fid.directory) {
      const data = fid.directory.read(msg.offset, count);
      return pending.reply(request, { type: "Rread", tag: request.tag, data });
    }
    if (!fid.file) throw new NineError(Rerror.notOpen);
    fid.reads ??= new Set();
    fid.reads.add(request);
    fid.file.read(msg.offset, count, {
      get abort() {
        return abortOf(request);
      },
      ok(data) {
        fid.reads?.delete(request);
        pending.reply(request, { type: "Rread", tag: request.tag, data });
      },
      fail(error) {
        fid.reads?.delete(request);
        fail(request, error);
      },
    });
  }

  function write(msg: MsgOf<"Twrite">, fid: Fid, request: Request): void {
    if (!fid.file) throw new NineError(fid.directory ? Rerror.isDir : Rerror.notOpen);
    const settle = holding(fid, request);
    fid.file.write(msg.data, {
      get abort() {
        return abortOf(request);
      },
      ok: (count) => settle(() => pending.reply(request, { type: "Rwrite", tag: request.tag, count })),
      fail: (error) => settle(() => fail(request, error)),
    });
  }

  /** Later messages on the fid wait until the function that this gives is called. */
  function holding(fid: Fid, request: Request): (act: () => void) => void {
    fid.busy = request;
    return (act) => {
      act();
      if (fid.busy === request) proceed(fid);
    };
  }

  function proceed(fid: Fid): void {
    fid.busy = undefined;
    while (!fid.busy && fid.waiting && fid.waiting.length > 0) fid.waiting.shift()?.();
  }

  /** A flushed request no longer holds its fid up. */
  function flushed(request: Request): void {
    const fid = request.fid;
    fid?.reads?.delete(request);
    if (fid?.busy === request) proceed(fid);
  }

  function clunk(fid: Fid, request: Request, then: () => void): void {
    for (const one of fid.reads ?? []) {
      one.abort?.abort(new NineError(Rerror.clunked));
      fail(one, Rerror.clunked);
    }
    fid.reads = undefined;
    if (!fid.file) return then();
    fid.file.close(true, { ok: then, fail: (error) => fail(request, error) });
  }

  function remove(fid: Fid, request: Request): void {
    clunk(fid, request, () =>
      tree().remove(fid.node, fid.principal, {
        ok: () => pending.reply(request, { type: "Rremove", tag: request.tag }),
        fail: (error) => fail(request, error),
      }),
    );
  }

  function wstat(msg: MsgOf<"Twstat">, fid: Fid, request: Request): void {
    const now = statOf(tree(), fid.node, fid.principal, fid.file?.length());
    const name = wstatName(msg.stat, now, fid.principal.name, () => tree().mayWrite(fid.node, fid.principal));
    const ok = () => pending.reply(request, { type: "Rwstat", tag: request.tag });
    if (name === undefined) return ok();
    request.fixed = true;
    const settle = holding(fid, request);
    tree().rename(fid.node, name, fid.principal, {
      ok: () => settle(ok),
      fail: (error) => settle(() => fail(request, error)),
    });
  }

  const incoming = framer(
    (buf, start, end) => {
      if (closed) return;
      let msg: ReturnType<typeof decode>;
      try {
        msg = decode(buf, start, end);
        if (msg.type.startsWith("R")) throw new ProtocolError(`${msg.type} is not a request`, msg.tag);
      } catch (error) {
        const tag = error instanceof ProtocolError ? error.tag : undefined;
        if (tag === undefined) throw error;
        return out.send({ type: "Rerror", tag, ename: messageOf(error) });
      }
      accept(msg as Tmsg);
    },
    () => (msize === 0 ? limits.maxMsize : msize),
  );

  const close = (reason: string) => {
    if (closed) return;
    closed = true;
    reset(new NineError(reason));
    duplex.destroy();
  };

  duplex.on("data", (chunk: Buffer) => {
    out.hold();
    try {
      incoming.push(chunk);
    } catch (error) {
      options.onError(`9p: ${messageOf(error)}; the connection is closed`);
      out.release();
      duplex.end();
      return close("protocol error");
    }
    out.release();
    // A client that asks without reading is not heard until it has read.
    if (out.unsent() > limits.pauseOver) {
      duplex.pause();
      duplex.once("drain", () => duplex.resume());
    }
  });
  duplex.on("error", () => close("connection lost"));
  duplex.on("end", () => close("connection ended"));
  duplex.on("close", () => close("connection closed"));
  return {
    close: () => close("server closed the connection"),
    get closed() {
      return closed;
    },
  };
}

/** A message that is kept for later must own its bytes: they are a view of the receive buffer. */
const own = <M extends Tmsg>(msg: M): M =>
  msg.type === "Twrite" ? { ...msg, data: Uint8Array.prototype.slice.call(msg.data) } : msg;
