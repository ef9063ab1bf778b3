/** The limits of the transport, in one place. Bytes unless said otherwise. */
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
  /** Over this many unsent bytes a connection's requests are not read. */
  pauseOver: 512 * 1024,
  /** Connections of one daemon. */
  connections: 4096,
} as const;
