/** Where the tree is served: a Unix socket or loopback TCP. A live server or a foreign file at the path is refused. */
import { chmodSync, lstatSync, renameSync, rmSync, statSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { makeDir } from "../config/paths.ts";
import { OllieError } from "../errors.ts";
import type { ListenAt, Listening } from "../plugin.ts";
import { parseAddr } from "./addr.ts";
import { encode, NOTAG } from "./codec.ts";
import { limits, overLimit } from "./limits.ts";

const refuse = (text: string) => new OllieError("E_LISTEN", text);

/** `onConnection` gets each accepted socket. Throws OllieError E_LISTEN with one sentence. */
export async function listenAt(
  at: Exclude<ListenAt, { duplex: unknown }>,
  onConnection: (socket: Socket) => void,
): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    if (sockets.size >= limits.connections) return turnAway(socket);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  const address = "unix" in at ? await listenUnix(server, at.unix) : await listenTcp(server, at.tcp);
  const inode = "unix" in at ? statSync(at.unix).ino : undefined;
  return {
    address,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
      // Only our own socket file: another daemon may have taken the path over.
      if ("unix" in at && inoOf(at.unix) === inode) rmSync(at.unix, { force: true });
    },
  };
}

/** The address in the form of a dial string. */
export const dialOf = (at: Exclude<ListenAt, { duplex: unknown }>): string =>
  "unix" in at ? `unix!${at.unix}` : `tcp!${at.tcp.host ?? "127.0.0.1"}!${at.tcp.port}`;

/** The descriptor of a stream that is an open socket. Node tells it in a handle only. */
export function descriptorOf(duplex: Duplex): number | undefined {
  const fd = (duplex as { _handle?: { fd?: number } | null })._handle?.fd;
  return fd !== undefined && fd >= 0 ? fd : undefined;
}

/** Answers the Tversion that comes first with the limit, so that the client can say why. */
function turnAway(socket: Socket): void {
  const ename = overLimit("connections").message;
  socket.on("error", () => {});
  socket.once("data", () => socket.end(encode({ type: "Rerror", tag: NOTAG, ename }), () => socket.destroy()));
  socket.setTimeout(1000, () => socket.destroy());
}

async function listenUnix(server: Server, path: string): Promise<string> {
  parseAddr(path); // checks the length
  const folder = dirname(path);
  makeDir(folder);
  checkFolder(folder);
  await takeOver(path);
  // Bound under another name in a folder that nobody else can enter, closed to others, then moved into place:
  // at no time can another user connect.
  const temporary = join(folder, `.${process.pid.toString(36)}${Math.random().toString(36).slice(2, 6)}`);
  parseAddr(temporary);
  // The mask is the process's: it is back before anything else runs, because Node binds within the call.
  const mask = process.umask(0o177);
  const bound = listening(server, { path: temporary });
  process.umask(mask);
  await bound;
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
  return dialOf({ unix: path });
}

async function listenTcp(server: Server, tcp: { host?: string; port: number }): Promise<string> {
  const host = tcp.host ?? "127.0.0.1";
  if (!/^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host))
    throw refuse(`tcp address ${host} is not a loopback address: 9P here has no authentication`);
  await listening(server, { host, port: tcp.port });
  const bound = server.address();
  return dialOf({ tcp: { host, port: typeof bound === "object" && bound ? bound.port : tcp.port } });
}

function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((ok, fail) => {
    server.once("error", (error) => fail(refuse(`can not listen: ${error.message}`)));
    server.listen({ ...where, backlog: limits.connections }, ok);
  });
}

/** The name space directory must be ours alone, or somebody else could put a socket there first. */
function checkFolder(folder: string): void {
  const uid = process.getuid?.();
  const info = statSync(folder);
  if (!info.isDirectory()) throw refuse(`${folder} is not a directory`);
  if (uid !== undefined && info.uid !== uid)
    throw refuse(`${folder} belongs to another user: set NAMESPACE to a folder of your own`);
  const mode = (info.mode & 0o7777).toString(8);
  if (info.mode & 0o077)
    throw refuse(`${folder} is open to other users (mode ${mode}): chmod 700 it, or set NAMESPACE`);
}

/** A socket that nobody answers is what a killed daemon left: it goes. Everything else stays. */
async function takeOver(path: string): Promise<void> {
  let info: ReturnType<typeof lstatSync>;
  try {
    info = lstatSync(path);
  } catch {
    return;
  }
  if (!info?.isSocket()) throw refuse(`${path} exists and is not a socket: it was left alone`);
  if (await answers(path)) throw refuse(`${path} is served by a running daemon`);
  unlinkSync(path);
}

const answers = (path: string): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(path);
    const settle = (is: boolean) => {
      socket.destroy();
      done(is);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", (error: NodeJS.ErrnoException) =>
      settle(error.code !== "ECONNREFUSED" && error.code !== "ENOENT"),
    );
  });

const inoOf = (path: string): number | undefined => {
  try {
    return lstatSync(path).ino;
  } catch {
    return undefined;
  }
};
