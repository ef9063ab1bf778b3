/**
 * A 9P2000 client: `ollie/client`. Paths start at the server's root, a leading slash is optional.
 *
 *     const client = await connect();                       // the socket of the name space
 *     await client.write("session/s/agent/a/prompt", "hello");
 *     for await (const bytes of client.stream("session/s/agent/a/chat")) process.stdout.write(bytes);
 *     await client.close();
 *
 * What the server refuses rejects with RemoteError. When the connection ends, everything pending rejects with one and the same Error.
 */
import { createConnection, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Addr, parseAddr } from "./addr.ts";
import {
  decodeStat,
  IOHDRSZ,
  MAXWELEM,
  NOFID,
  ORDWR,
  OREAD,
  OTRUNC,
  OWRITE,
  type Qid,
  QTDIR,
  type Stat,
  type Tmsg,
} from "./codec.ts";
import { type CallOptions, changeStat, type File, openFile, statOf } from "./file.ts";
import { RemoteError, type Rpc, rpcOver } from "./rpc.ts";

export { type Addr, namespaceDir, parseAddr } from "./addr.ts";
export { DMDIR, OEXEC, ORCLOSE, ORDWR, OREAD, OTRUNC, OWRITE, type Qid, QTDIR, type Stat } from "./codec.ts";
export type { CallOptions, File } from "./file.ts";
export { RemoteError } from "./rpc.ts";

export interface ClientOptions {
  /** Who speaks. Default: `$OLLIE_UNAME`, else `$USER`. */
  uname?: string | undefined;
  /** Which tree of the server. Default: the empty name. */
  aname?: string | undefined;
  /** Largest message offered, in bytes; the server may lower it. Default 64 KiB + 24. */
  msize?: number | undefined;
}

export interface Client extends AsyncDisposable {
  /** Largest message that both sides take. */
  readonly msize: number;
  /** Why the connection ended, once it has. Never rejects. */
  readonly ended: Promise<Error>;
  /** Opens with OREAD (default), OWRITE, ORDWR, `| OTRUNC`. */
  open(path: string, mode?: number, options?: CallOptions): Promise<File>;
  /** Creates and opens; `perm` with DMDIR makes a directory. */
  create(path: string, perm: number, mode?: number): Promise<File>;
  /** All bytes to the end of the file. */
  read(path: string, options?: CallOptions): Promise<Buffer>;
  /** What the file gives, as it comes, until its end, an abort (rejects with the reason), or until the loop is left. */
  stream(path: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined>;
  /**
   * Opens with OTRUNC, writes in pieces of iounit, closes: the write has taken effect when this resolves. Empty data only truncates.
   * Of a write that fails or is aborted nothing is committed; its fid stays in use until the connection ends.
   */
  write(path: string, data: Uint8Array | string, options?: CallOptions): Promise<void>;
  /** Writes `body`, then reads the whole reply on the same fid. An undefined body asks for the file's usage. */
  rdwr(path: string, body?: Uint8Array | string, options?: CallOptions): Promise<Buffer>;
  /** As `rdwr`, with the reply as it comes. The request is abandoned when the loop is left. */
  rdwrStream(path: string, body?: Uint8Array | string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined>;
  /**
   * As `rdwrStream`, with walk, open, write and the first read sent in one go: one round trip where that takes four. For a server
   * that handles a connection's requests in the order in which they come.
   */
  exchange(path: string, body: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined>;
  /** The entries of a directory, in the server's order; of a file, the file. */
  ls(path: string): Promise<Stat[]>;
  stat(path: string): Promise<Stat>;
  /** Changes the fields that `change` names: `{ name }` renames. */
  wstat(path: string, change: Partial<Stat>): Promise<void>;
  remove(path: string): Promise<void>;
  /** The qid of what is at `path`: tells whether it is there. */
  walk(path: string): Promise<Qid>;
  /** Ends the connection. Bytes that were written but not committed are dropped by the server. */
  close(): Promise<void>;
}

const VERSION = "9P2000";
const MSIZE = 64 * 1024 + IOHDRSZ;
/** Most that is taken from a socket at once. */
const CHUNK = 64 * 1024;

/**
 * Connects to `addr` (`unix!PATH`, `tcp!HOST!PORT`, `/PATH`; default `ollie` in the name space directory) and attaches.
 * Rejects with one sentence; its `cause` is the system's error when nothing answers there (`code` ENOENT or ECONNREFUSED).
 */
export async function connect(addr?: string | Addr, options: ClientOptions = {}): Promise<Client> {
  const to = typeof addr === "object" ? addr : parseAddr(addr);
  const name = "unix" in to ? to.unix : `${to.host}:${to.port}`;
  let rpc: Rpc;
  // What arrives goes straight to the rpc: through the socket as a stream it would take a millisecond more to the first reply.
  const onread = {
    buffer: Buffer.allocUnsafeSlow(CHUNK),
    callback(size: number, bytes: Uint8Array) {
      rpc.push((bytes as Buffer).subarray(0, size));
      return true;
    },
  };
  const socket = createConnection("unix" in to ? { path: to.unix, onread } : { ...to, noDelay: true, onread });
  await connected(socket, name);
  rpc = rpcOver(socket, options.msize ?? MSIZE, name);
  return attach(rpc, socket, name, options);
}

function connected(socket: Socket, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Error(`no server answers at ${name}`, { cause: error }));
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      resolve();
    });
  });
}

/** A client over a stream pair that is already there: a pipe, a child's stdio, a socket. */
export function clientOver(duplex: Duplex, options: ClientOptions = {}): Promise<Client> {
  const rpc = rpcOver(duplex, options.msize ?? MSIZE, "9p");
  duplex.on("data", rpc.push);
  return attach(rpc, duplex, "9p", options);
}

async function attach(rpc: Rpc, duplex: Duplex, name: string, options: ClientOptions): Promise<Client> {
  try {
    const offer: Tmsg = { type: "Tversion", tag: 0, msize: rpc.msize, version: VERSION };
    const agreed = await rpc.request(offer, "Rversion", ({ msize, version }) => ({ msize, version }));
    if (agreed.version !== VERSION) throw new Error(`${name}: the server does not speak ${VERSION}`);
    if (agreed.msize > rpc.msize || agreed.msize <= IOHDRSZ)
      throw new Error(`${name}: msize ${agreed.msize} is not usable`);
    rpc.msize = agreed.msize;
    const uname = options.uname ?? (process.env.OLLIE_UNAME || process.env.USER || process.env.LOGNAME || "none");
    await rpc.request(
      { type: "Tattach", tag: 0, fid: 0, afid: NOFID, uname, aname: options.aname ?? "" },
      "Rattach",
      () => {},
    );
  } catch (error) {
    rpc.end(error as Error);
    throw error;
  }
  return clientOf(rpc, duplex);
}

const ROOT = 0;

function clientOf(rpc: Rpc, duplex: Duplex): Client {
  const freeFids: number[] = [];
  let nextFid = 1;

  /** A Tclunk or Tremove frees the fid even when it fails: clunk(5), remove(5). */
  const give = async (type: "Tclunk" | "Tremove", fid: number): Promise<void> => {
    try {
      await rpc.request({ type, tag: 0, fid }, type === "Tclunk" ? "Rclunk" : "Rremove", () => {});
    } finally {
      freeFids.push(fid);
    }
  };
  const clunk = (fid: number): Promise<void> => give("Tclunk", fid);
  const drop = (fid: number): Promise<void> => clunk(fid).catch(() => {});

  /**
   * A new fid at `path`. Of a walk that ends early the server tells no reason and binds nothing: the part that is there is then
   * walked alone, and the name behind it next, which gives the Rerror.
   */
  const walkTo = async (path: string, options?: CallOptions): Promise<{ fid: number; qid: Qid | undefined }> => {
    let rest = namesOf(path);
    const newfid = freeFids.pop() ?? nextFid++;
    let fid = ROOT;
    let qid: Qid | undefined;
    let most = MAXWELEM;
    try {
      do {
        const wname = rest.slice(0, most);
        const msg: Tmsg = { type: "Twalk", tag: 0, fid, newfid, wname };
        const qids = await rpc.request(msg, "Rwalk", (reply) => reply.wqid, options?.signal);
        if (qids.length < wname.length) {
          if (qids.length === 0) throw new RemoteError("file not found");
          most = qids.length;
        } else {
          fid = newfid;
          qid = qids.at(-1);
          rest = rest.slice(wname.length);
          most = MAXWELEM;
        }
      } while (rest.length > 0);
    } catch (error) {
      if (fid === newfid) await drop(newfid);
      else freeFids.push(newfid);
      throw error;
    }
    return { fid: newfid, qid };
  };

  /** Runs `use` on a fid at `path`, which it has to give back; if it throws, that is done here. */
  const at = async <T>(path: string, use: (fid: number) => Promise<T>, options?: CallOptions): Promise<T> => {
    const { fid } = await walkTo(path, options);
    try {
      return await use(fid);
    } catch (error) {
      await drop(fid);
      throw error;
    }
  };

  const open = (path: string, mode = OREAD, options?: CallOptions): Promise<File> =>
    at(
      path,
      async (fid) => {
        const opened = await rpc.request(
          { type: "Topen", tag: 0, fid, mode },
          "Ropen",
          (reply) => reply,
          options?.signal,
        );
        return openFile(rpc, fid, opened, clunk);
      },
      options,
    );

  async function* stream(path: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined> {
    const file = await open(path, OREAD, options);
    try {
      yield* file.stream(options);
    } finally {
      await file.close().catch(() => {});
    }
  }

  async function* rdwrStream(
    path: string,
    body?: Uint8Array | string,
    options?: CallOptions,
  ): AsyncGenerator<Buffer, void, undefined> {
    const file = await open(path, ORDWR, options);
    try {
      if (body !== undefined) await file.write(body, 0, options);
      yield* file.stream(options);
    } finally {
      await file.close().catch(() => {});
    }
  }

  async function* exchange(path: string, body: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined> {
    const wname = namesOf(path);
    const bytes = Buffer.from(body);
    if (wname.length > MAXWELEM || bytes.length > rpc.msize - IOHDRSZ) {
      return yield* rdwrStream(path, bytes, options);
    }
    const fid = freeFids.pop() ?? nextFid++;
    const walked = rpc.request({ type: "Twalk", tag: 0, fid: ROOT, newfid: fid, wname }, "Rwalk", ({ wqid }) => {
      if (wqid.length < wname.length) throw new RemoteError("file not found");
    });
    const opened = rpc.request({ type: "Topen", tag: 0, fid, mode: ORDWR }, "Ropen", () => {});
    const file = openFile(rpc, fid, { qid: unknownQid, iounit: 0 }, clunk);
    const written = file.write(bytes, 0);
    const first = file.read(undefined, undefined, options);
    // The first that fails says why; the others fail for the lack of it.
    for (const later of [opened, written, first]) later.catch(() => {});
    try {
      await walked;
    } catch (error) {
      freeFids.push(fid);
      throw error;
    }
    try {
      await opened;
      await written;
      const bytes = await first;
      if (bytes.length === 0) return;
      yield bytes;
      yield* file.stream(options);
    } finally {
      // Nobody waits for its clunk: all that the file had to say has come.
      file.close().catch(() => {});
    }
  }

  const client: Client = {
    msize: rpc.msize,
    ended: rpc.ended,
    open,
    stream,
    rdwrStream,
    exchange,
    read: (path, options) => gather(stream(path, options)),
    rdwr: (path, body, options) => gather(rdwrStream(path, body, options)),
    create: (path, perm, mode = OREAD) => {
      const names = path.split("/").filter((name) => name !== "");
      const name = names.pop() ?? "";
      return at(names.join("/"), async (fid) => {
        const opened = await rpc.request(
          { type: "Tcreate", tag: 0, fid, name, perm, mode },
          "Rcreate",
          (reply) => reply,
        );
        return openFile(rpc, fid, opened, clunk);
      });
    },
    async write(path, data, options) {
      const file = await open(path, OWRITE | OTRUNC, options);
      // No clunk after a failure: it would commit the part that was taken.
      if (data.length > 0) await file.write(data, 0, options);
      await file.close();
    },
    async ls(path) {
      const stat = await client.stat(path);
      if (!(stat.qid.type & QTDIR)) return [stat];
      const bytes = await client.read(path);
      const entries: Stat[] = [];
      for (let from = 0; from < bytes.length; from += 2 + bytes.readUInt16LE(from))
        entries.push(decodeStat(bytes, from));
      return entries;
    },
    stat: (path) => using(path, (fid) => statOf(rpc, fid)),
    wstat: (path, change) => using(path, (fid) => changeStat(rpc, fid, change)),
    remove: async (path) => give("Tremove", (await walkTo(path)).fid),
    async walk(path) {
      const { fid, qid } = await walkTo(path);
      await clunk(fid);
      return qid ?? (await client.stat(path)).qid;
    },
    async close() {
      const gone = new Promise<void>((resolve) => (duplex.closed ? resolve() : duplex.once("close", () => resolve())));
      rpc.end(new Error("the connection was closed"));
      await gone;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };

  const using = async <T>(path: string, use: (fid: number) => Promise<T>): Promise<T> => {
    const result = await at(path, async (fid) => ({ fid, value: await use(fid) }));
    await clunk(result.fid);
    return result.value;
  };

  return client;
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

/** Of a file that is used before its Ropen has come. */
const unknownQid: Qid = { type: 0, vers: 0, path: 0 };

async function gather(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const list: Buffer[] = [];
  for await (const chunk of chunks) list.push(chunk);
  return list.length === 1 ? (list[0] as Buffer) : Buffer.concat(list);
}
