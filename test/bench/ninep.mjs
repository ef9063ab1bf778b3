// What the 9P rows share: a server in a process of its own, and a client that does as little as one can.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./cleanup.mjs";

/** `kind`: ollie or canned. */
export async function server(kind) {
  const dir = mkdtempSync(join(tmpdir(), "ollie-b-"));
  const socket = join(dir, "s");
  const child = fork(join(import.meta.dirname, "ninep-server.mjs"), [kind, socket], {
    execArgv: ["--expose-gc", ...(process.env.BENCH_EXEC?.split(" ") ?? [])],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  atEnd(async () => {
    child.kill();
    await ended;
    rmSync(dir, { recursive: true, force: true });
  });
  await once(child, "message");
  return {
    socket,
    /** Gives `cpu` in microseconds and `rss` in bytes, after it has done `what`: publish, gc or nothing. */
    async ask(what = "nothing") {
      child.send(what);
      const [answer] = await once(child, "message");
      return answer;
    },
  };
}

const u8 = (n) => Buffer.from([n]);
const u16 = (n) => Buffer.from(new Uint16Array([n]).buffer);
const u32 = (n) => Buffer.from(new Uint32Array([n]).buffer);
const text = (s) => Buffer.concat([u16(s.length), Buffer.from(s)]);

function message(type, tag, ...fields) {
  const body = Buffer.concat(fields);
  return Buffer.concat([u32(7 + body.length), u8(type), u16(tag), body]);
}

export const version = message(100, 0xffff, u32(65_560), text("9P2000"));
export const attach = (fid) => message(104, 0, u32(fid), u32(0xffffffff), text("root"), text(""));
export const walk = (tag, fid, newfid, ...names) =>
  message(110, tag, u32(fid), u32(newfid), u16(names.length), ...names.map(text));
export const open = (tag, fid) => message(112, tag, u32(fid), u8(0));
export const read = (tag, fid, count = 4096, offset = 0) =>
  message(116, tag, u32(fid), u32(offset), u32(0), u32(count));
export const clunk = (tag, fid) => message(120, tag, u32(fid));
export const stat = (tag, fid) => message(124, tag, u32(fid));

/** A connection that has attached as fid 0. `onReply(bytes, from)` gets each reply, `onChunk` is called behind those of one tick. */
export async function dial(path) {
  const socket = connect(path);
  await once(socket, "connect");
  atEnd(() => socket.destroy());
  const self = { socket, onReply: () => {}, onChunk: () => {} };
  let gathered = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    const bytes = gathered.length > 0 ? Buffer.concat([gathered, chunk]) : chunk;
    let at = 0;
    while (bytes.length - at >= 4) {
      const end = at + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      if (bytes[at + 4] === 107) throw new Error(bytes.toString("utf8", at + 9, end));
      self.onReply(bytes, at);
      at = end;
    }
    gathered = bytes.subarray(at);
    self.onChunk();
  });
  /** Sends `requests` one after the other. */
  self.run = async (...requests) => {
    for (const one of requests) {
      socket.write(one);
      await new Promise((resolve) => (self.onReply = resolve));
    }
  };
  await self.run(version, attach(0));
  return self;
}

/**
 * Runs `chains` in parallel, each a list of requests whose tag is its index: a request goes out when the one before is
 * answered. Each is a write of its own, as plan9port, Linux and libraries send them; `together`: those of one tick are one.
 * Resolves when `total` requests are answered.
 */
export function load(connection, chains, total, together) {
  const at = new Uint8Array(chains.length);
  const slab = Buffer.allocUnsafeSlow(64 * 1024);
  let to = 0;
  let sent = 0;
  let answered = 0;
  const write = () => {
    if (to > 0) connection.socket.write(Buffer.from(slab.subarray(0, to)));
    to = 0;
  };
  const next = (tag) => {
    const chain = chains[tag];
    const request = chain[at[tag]];
    at[tag] = at[tag] + 1 === chain.length ? 0 : at[tag] + 1;
    slab.set(request, to);
    to += request.length;
    sent++;
    if (!together) write();
  };
  return new Promise((resolve) => {
    connection.onReply = (bytes, start) => {
      answered++;
      const tag = bytes[start + 5] | (bytes[start + 6] << 8);
      // A chain ends where it began, so that the next run finds its fids free.
      if (sent < total || at[tag] > 0) next(tag);
    };
    connection.onChunk = () => {
      write();
      if (answered === sent) resolve(answered);
    };
    for (const tag of chains.keys()) next(tag);
    connection.onChunk();
  });
}
