/** The limits of the transport, in one place; docs/limits.md explains them. Bytes unless said otherwise. */
import { NineError } from "../errors.ts";

export const limits = {
  /** Smallest and largest msize; below the first a Tversion is refused. */
  minMsize: 256,
  maxMsize: 1 << 20,
  /** What the client offers. */
  offeredMsize: 64 * 1024 + 24,
  /** Room that iounit leaves for a header (IOHDRSZ of fcall.h), and what an Rread really needs. */
  header: 24,
  readHeader: 11,
  /** Fids of one connection. */
  fids: 16_384,
  /** Requests of one connection that are not answered yet. */
  requests: 65_534,
  /** Replies that the other side of one connection has not taken; more wait as records, and blocked reads take no data. */
  unsent: 4 << 20,
  /** Over this many unsent bytes, or bytes of writes that wait behind others, a connection's requests are not read. */
  pauseOver: 512 * 1024,
  /** Connections of one listener. */
  connections: 4096,
} as const;

const of = {
  fids: "fids of one connection",
  requests: "requests in flight on one connection",
  connections: "connections",
} as const;

/** Says which limit is reached: its key in this table comes first. */
export const overLimit = (key: keyof typeof of): NineError =>
  new NineError(`${key}: more than the limit of ${limits[key]} ${of[key]}`);
