/** `instanceof Promise` misses thenables of other realms and libraries. */
export const isThenable = (value: unknown): value is PromiseLike<never> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
