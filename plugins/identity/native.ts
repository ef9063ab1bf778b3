/** What the kernel knows of the other end of a Unix socket: two calls that Node lacks, through koffi. */
import { adoptOrphans, loadLibc } from "#plugins/toolsrv";

export interface PeerCalls {
  /** Who connected, as it was then. A pid of 0 lies outside of our pid namespace. Undefined: it is no Unix socket. */
  credentials(fd: number): { pid: number; uid: number } | undefined;
  /** A descriptor of that very process, to be closed. Undefined: the kernel is older than 6.5, or the process is gone. */
  pidfd(fd: number): number | undefined;
}

export type Native =
  | { readonly calls: PeerCalls; readonly missing?: undefined }
  | { calls?: undefined; missing: string };

let loading: Promise<Native> | undefined;

/**
 * Once in a process; never rejects. From then on what loses its parent below us becomes our child: a process can not get
 * out of our descent by forking twice.
 */
export function loadNative(): Promise<Native> {
  loading ??= load();
  return loading;
}

// asm-generic/socket.h: the same on x64 and arm64.
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_PEERPIDFD = 77;

async function load(): Promise<Native> {
  const { missing } = await loadLibc();
  if (missing !== undefined) return { missing };
  await adoptOrphans();
  const { default: koffi } = await import("koffi");
  const getsockopt = koffi
    .load(null)
    .func("int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *size)");
  const value = Buffer.alloc(12);
  const ask = (fd: number, name: number, size: number) => getsockopt(fd, SOL_SOCKET, name, value, [size]) === 0;
  return {
    calls: {
      credentials: (fd) =>
        ask(fd, SO_PEERCRED, 12) ? { pid: value.readInt32LE(0), uid: value.readUInt32LE(4) } : undefined,
      pidfd: (fd) => (ask(fd, SO_PEERPIDFD, 4) ? value.readInt32LE(0) : undefined),
    },
  };
}
