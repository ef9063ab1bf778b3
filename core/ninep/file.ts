/** An open file of a 9P server: one fid. */
import { IOHDRSZ, type Qid, type Stat } from "./codec.ts";
import type { Rpc } from "./rpc.ts";

export interface CallOptions {
  /** Cancels the request on the server (Tflush); it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface File {
  readonly qid: Qid;
  /** Most bytes of one read or write. A file that takes whole messages takes at most this many in one. */
  readonly iounit: number;
  /**
   * At most `count` bytes (default and limit: `iounit`) from `offset`; none at the end of the file. Without `offset` it goes on where
   * the last such read ended, first at 0. On a blocking file it waits until there is something.
   */
  read(count?: number, offset?: number, options?: CallOptions): Promise<Buffer>;
  /** Writes all of `data`, in pieces of `iounit`. Without `offset` it goes on where the last such write ended; reads have their own place. */
  write(data: Uint8Array | string, offset?: number, options?: CallOptions): Promise<void>;
  stat(): Promise<Stat>;
  wstat(change: Partial<Stat>): Promise<void>;
  /** What further reads give, until the end of the file. Does not close. */
  stream(options?: CallOptions): AsyncGenerator<Buffer, void, undefined>;
  /** Gives the fid back. Files that commit at the close take effect before this resolves, or it rejects with what was wrong. */
  close(): Promise<void>;
}

/** A Twstat that touches nothing: stat(5). */
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

export function statOf(rpc: Rpc, fid: number): Promise<Stat> {
  return rpc.request({ type: "Tstat", tag: 0, fid }, "Rstat", (reply) => reply.stat);
}

/** Changes the fields that `change` names and no other. */
export function changeStat(rpc: Rpc, fid: number, change: Partial<Stat>): Promise<void> {
  return rpc.request({ type: "Twstat", tag: 0, fid, stat: { ...untouched, ...change } }, "Rwstat", () => {});
}

/** The file that `fid`, opened, stands for. `clunk` gives the fid back. */
export function openFile(
  rpc: Rpc,
  fid: number,
  opened: { qid: Qid; iounit: number },
  clunk: (fid: number) => Promise<void>,
): File {
  const most = rpc.msize - IOHDRSZ;
  const iounit = opened.iounit > 0 ? Math.min(opened.iounit, most) : most;
  let readAt = 0;
  let writeAt = 0;
  let closed: Promise<void> | undefined;

  const read = (count = iounit, offset?: number, options?: CallOptions): Promise<Buffer> =>
    rpc.request(
      { type: "Tread", tag: 0, fid, offset: offset ?? readAt, count: Math.min(count, iounit) },
      "Rread",
      ({ data }) => {
        if (offset === undefined) readAt += data.length;
        return Buffer.from(data);
      },
      options?.signal,
    );

  const writeOnce = (data: Uint8Array, offset: number, options?: CallOptions): Promise<number> =>
    rpc.request({ type: "Twrite", tag: 0, fid, offset, data }, "Rwrite", (reply) => reply.count, options?.signal);

  return {
    qid: opened.qid,
    iounit,
    read,
    async write(data, offset, options) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      const start = offset ?? writeAt;
      let done = 0;
      do {
        const count = await writeOnce(bytes.subarray(done, done + iounit), start + done, options);
        if (count === 0 && done < bytes.length) throw new Error("the server took none of the bytes written");
        done += count;
      } while (done < bytes.length);
      if (offset === undefined) writeAt = start + done;
    },
    stat: () => statOf(rpc, fid),
    wstat: (change) => changeStat(rpc, fid, change),
    async *stream(options) {
      for (;;) {
        const bytes = await read(iounit, undefined, options);
        if (bytes.length === 0) return;
        yield bytes;
      }
    },
    close() {
      closed ??= clunk(fid);
      return closed;
    },
  };
}
