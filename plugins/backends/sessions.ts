/** Short-lived credentials: made when one is needed, shared by all who need one, made anew when a server refuses one. */

export interface Made<S> {
  session: S;
  /** Milliseconds after which another one is made. */
  life: number;
}

export interface Sessions<S> {
  /**
   * The session of the account `id`. Where none is good, `make` makes one, for all who ask in the meantime. Throws what
   * `make` throws, or the reason of `signal`: then the others still get theirs.
   */
  get(id: string, make: () => Promise<Made<S>>, signal: AbortSignal): Promise<S>;
  /** It was refused: the next `get` makes another one, unless that has happened. */
  drop(session: S): void;
}

/** `now`: a clock that never goes back, in milliseconds. */
export function sharedSessions<S>(now: () => number = () => performance.now()): Sessions<S> {
  let current: { id: string; made: Promise<S>; until: number; session?: S } | undefined;

  function begin(id: string, make: () => Promise<Made<S>>): Promise<S> {
    const mine: NonNullable<typeof current> = {
      id,
      until: Number.POSITIVE_INFINITY,
      made: make().then(({ session, life }) => {
        mine.until = now() + life;
        mine.session = session;
        return session;
      }),
    };
    current = mine;
    mine.made.catch(() => {
      if (current === mine) current = undefined;
    });
    return mine.made;
  }

  return {
    async get(id, make, signal) {
      signal.throwIfAborted();
      return untilAbort(current?.id === id && now() < current.until ? current.made : begin(id, make), signal);
    },
    drop(session) {
      if (current?.session === session) current = undefined;
    },
  };
}

/**
 * What `work` gives with a session of `get`; once more with another one where it fails, before anything came, in a way
 * that `refused` says is the session's.
 */
export async function* withSession<S, T>(
  get: () => Promise<S>,
  drop: (session: S) => void,
  refused: (error: unknown) => boolean,
  work: (session: S) => AsyncIterable<T>,
): AsyncGenerator<T> {
  for (let again = true; ; again = false) {
    const session = await get();
    let begun = false;
    try {
      for await (const item of work(session)) {
        begun = true;
        yield item;
      }
      return;
    } catch (error) {
      if (begun || !refused(error)) throw error;
      drop(session);
      if (!again) throw error;
    }
  }
}

/** The result of work that others wait for too. */
function untilAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
