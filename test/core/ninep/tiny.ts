/**
 * A small 9P server built from the codec, for tests of the client. Files are strings; reads of the file `block` are held until
 * `wake`. `override` sees each request first and may answer it, or swallow it by giving true.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  decode,
  encode,
  encodeStat,
  type Qid,
  QTDIR,
  type Rmsg,
  type Stat,
  type Tmsg,
} from "../../../core/ninep/codec.ts";
import { framer } from "../../../core/ninep/frame.ts";

export interface Tiny {
  addr: string;
  /** Every request, in order. */
  seen: Tmsg[];
  files: Map<string, string>;
  /** Fids in use. */
  fids: Map<number, string>;
  /** Answers all held reads of `block`. */
  wake(text: string): void;
  held(): number;
  connections(): number;
  /** Ends all connections. */
  hangUp(): void;
  /** Sends bytes as they are. */
  raw(bytes: Buffer): void;
  close(): Promise<void>;
}

type Override = (msg: Tmsg, send: (reply: Rmsg) => void) => boolean | undefined;

export async function tiny(override: Override = () => undefined): Promise<Tiny> {
  const folder = mkdtempSync(join(tmpdir(), "tiny-"));
  const addr = join(folder, "s");
  const sockets = new Set<Socket>();
  const seen: Tmsg[] = [];
  const fids = new Map<number, string>();
  const held = new Map<number, (text: string) => void>();
  const files = new Map([
    ["a", "hello"],
    ["dir/b", "inner"],
    ["block", ""],
    ["long", "x".repeat(100_000)],
  ]);

  const isDir = (path: string): boolean => path === "" || [...files.keys()].some((name) => name.startsWith(`${path}/`));
  const exists = (path: string): boolean => files.has(path) || isDir(path);
  const qid = (path: string): Qid => ({ type: isDir(path) ? QTDIR : 0, vers: 0, path: path.length + 1 });
  const stat = (path: string): Stat => ({
    type: 0,
    dev: 0,
    qid: qid(path),
    mode: isDir(path) ? 0x800001ed : 0o644,
    atime: 0,
    mtime: 0,
    length: files.get(path)?.length ?? 0,
    name: path.split("/").at(-1) || "/",
    uid: "u",
    gid: "g",
    muid: "u",
  });
  const listing = (path: string): Buffer => {
    const prefix = path === "" ? "" : `${path}/`;
    const names = new Set(
      [...files.keys()].filter((f) => f.startsWith(prefix)).map((f) => f.slice(prefix.length).split("/")[0]),
    );
    return Buffer.concat([...names].map((name) => encodeStat(stat(prefix + name))));
  };

  function answer(msg: Tmsg, send: (reply: Rmsg) => void): void {
    const { tag } = msg;
    const error = (ename: string): void => send({ type: "Rerror", tag, ename });
    const path = "fid" in msg ? fids.get(msg.fid) : undefined;
    if (msg.type === "Tversion")
      return send({ type: "Rversion", tag, msize: Math.min(msg.msize, 8192), version: msg.version });
    if (msg.type === "Tattach") {
      fids.set(msg.fid, "");
      return send({ type: "Rattach", tag, qid: qid("") });
    }
    if (msg.type === "Tflush") {
      held.delete(msg.oldtag);
      return send({ type: "Rflush", tag });
    }
    if (path === undefined) return error("unknown fid");
    switch (msg.type) {
      case "Twalk": {
        let at = path;
        const wqid: Qid[] = [];
        for (const name of msg.wname) {
          const next = at === "" ? name : `${at}/${name}`;
          if (!exists(next)) break;
          at = next;
          wqid.push(qid(at));
        }
        if (msg.wname.length > 0 && wqid.length === 0) return error(`no ${msg.wname[0]} in ${path || "root"}`);
        if (wqid.length === msg.wname.length) fids.set(msg.newfid, at);
        return send({ type: "Rwalk", tag, wqid });
      }
      case "Topen":
        if (msg.mode & 0x10) files.set(path, "");
        return send({ type: "Ropen", tag, qid: qid(path), iounit: 1000 });
      case "Tcreate":
        fids.set(msg.fid, path === "" ? msg.name : `${path}/${msg.name}`);
        files.set(fids.get(msg.fid) as string, "");
        return send({ type: "Rcreate", tag, qid: qid(fids.get(msg.fid) as string), iounit: 0 });
      case "Tread": {
        if (path === "block") {
          held.set(tag, (text) => send({ type: "Rread", tag, data: Buffer.from(text) }));
          return;
        }
        const bytes = isDir(path) ? listing(path) : Buffer.from(files.get(path) ?? "");
        return send({ type: "Rread", tag, data: bytes.subarray(msg.offset, msg.offset + msg.count) });
      }
      case "Twrite": {
        const old = Buffer.from(files.get(path) ?? "");
        files.set(path, Buffer.concat([old.subarray(0, msg.offset), msg.data]).toString());
        return send({ type: "Rwrite", tag, count: msg.data.length });
      }
      case "Tclunk":
        fids.delete(msg.fid);
        return send({ type: "Rclunk", tag });
      case "Tremove":
        fids.delete(msg.fid);
        return files.delete(path) ? send({ type: "Rremove", tag }) : error("permission denied");
      case "Tstat":
        return send({ type: "Rstat", tag, stat: stat(path) });
      case "Twstat":
        if (msg.stat.name !== "") {
          files.set(msg.stat.name, files.get(path) ?? "");
          files.delete(path);
        }
        return send({ type: "Rwstat", tag });
    }
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    const send = (reply: Rmsg): void => void socket.write(encode(reply));
    const frames = framer(
      (buf, start, end) => {
        const msg = decode(buf, start, end) as Tmsg;
        // Data views the chunk: keep a copy.
        seen.push(msg.type === "Twrite" ? { ...msg, data: Buffer.from(msg.data) } : msg);
        if (override(msg, send) !== true) answer(msg, send);
      },
      () => 1 << 20,
    );
    socket.on("data", (chunk) => frames.push(chunk));
  });
  await new Promise<void>((done) => server.listen(addr, done));

  return {
    addr,
    seen,
    files,
    fids,
    wake(text) {
      const all = [...held.values()];
      held.clear();
      for (const give of all) give(text);
    },
    held: () => held.size,
    connections: () => sockets.size,
    hangUp: () => sockets.forEach((socket) => void socket.destroy()),
    raw: (bytes) => sockets.forEach((socket) => void socket.write(bytes)),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
