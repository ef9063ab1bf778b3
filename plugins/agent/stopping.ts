/** Waiting that a stop ends. */

/** The value of `work`; undefined as soon as `signal` aborts. What `work` still does then is nobody's concern. */
export async function untilStop<T>(
  work: T | PromiseLike<T>,
  signal: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  if (signal.aborted) {
    Promise.resolve(work).catch(() => {});
    return undefined;
  }
  let stop: () => void = () => {};
  const stopped = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([stopped, Promise.resolve(work).then((value) => ({ value }))]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
