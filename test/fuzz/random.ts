/** Random numbers that a seed repeats. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number;
  pick<T>(list: readonly T[]): T;
  bytes(length: number): Buffer;
}

/** Marsaglia's xorshift on 32 bits: good enough for tests, the same on every machine. */
export function randomOf(seed: number): Random {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const int = (below: number): number => next() % below;
  return {
    int,
    pick: <T>(list: readonly T[]): T => list[int(list.length)] as T,
    bytes: (length) => Buffer.from(Array.from({ length }, () => int(256))),
  };
}
