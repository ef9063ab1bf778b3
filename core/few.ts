/** A set that nearly always holds one thing: who waits for a read, an abort, a change. */

/**
 * In order of arrival. A Set takes 200 bytes, and makes as many anew whenever the last thing is taken out: where ten thousand
 * readers wait, each in several such sets, that was a third of what it costs to wake them.
 */
export class Few<T extends object> {
  #one: T | undefined;
  #more: Set<T> | undefined;

  get size(): number {
    return (this.#one ? 1 : 0) + (this.#more?.size ?? 0);
  }

  add(thing: T): void {
    // What came later stays behind what is there.
    if (this.size === 0) this.#one = thing;
    if (this.#one === thing) return;
    this.#more ??= new Set();
    this.#more.add(thing);
  }

  delete(thing: T): void {
    if (this.#one === thing) this.#one = undefined;
    else this.#more?.delete(thing);
  }

  /** Empties it, then calls `act` with all that was there; what that adds stays. */
  empty(act: (thing: T) => void): void {
    const one = this.#one;
    const more = this.#more;
    this.#one = undefined;
    this.#more = undefined;
    if (one) act(one);
    if (more) for (const thing of more) act(thing);
  }

  /** Takes out what `act` is done with, up to the first that it is not; what that adds has its turn too. */
  drain(act: (thing: T) => boolean): void {
    for (let one = this.#one; one && act(one); one = this.#one) if (this.#one === one) this.#one = undefined;
    if (this.#one || !this.#more) return;
    for (const thing of this.#more) {
      if (!act(thing)) return;
      this.#more.delete(thing);
    }
  }
}
