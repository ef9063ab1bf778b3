/** Stops, and waiting that a stop ends. */

/** The reason of a stop that nobody asked for: the agent or the daemon ends. */
export class Going extends Error {
  constructor() {
    super("the server was shut down");
  }
}

/** The reason of a stop that came from the agent's creator, which was stopped itself. */
export class CreatorStopped extends Error {
  constructor() {
    super("the agent that asked for it was stopped");
  }
}

/** Who ended it, for the model. */
export function whoStopped({ reason }: AbortSignal): string {
  if (reason instanceof Going) return "the shutdown of the server";
  return reason instanceof CreatorStopped ? "the stop of the agent that asked for it" : "the user's stop";
}

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
