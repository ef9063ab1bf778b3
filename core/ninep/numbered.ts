/** Things by number, as fids and tags are: clients give out small ones first, and those are found in an array. */

/** Numbers from here on are in a Map, which costs a tenth of a small read more. */
const LOW = 1024;

export class Numbered<T> {
  size = 0;
  readonly #low: (T | undefined)[] = [];
  #high: Map<number, T> | undefined;

  get(n: number): T | undefined {
    return n < this.#low.length ? this.#low[n] : this.#high?.get(n);
  }

  /** Puts `thing` in a place that is free. */
  set(n: number, thing: T): void {
    this.size++;
    if (n >= LOW) {
      this.#high ??= new Map();
      this.#high.set(n, thing);
      return;
    }
    while (this.#low.length < n) this.#low.push(undefined);
    this.#low[n] = thing;
  }

  /** Empties a place that is taken. */
  delete(n: number): void {
    this.size--;
    if (n < this.#low.length) this.#low[n] = undefined;
    else this.#high?.delete(n);
  }

  /** Empties all places; gives what was there. */
  clear(): T[] {
    const all = [...this.#low, ...(this.#high?.values() ?? [])].filter((one): one is T => one !== undefined);
    this.#low.length = 0;
    this.#high = undefined;
    this.size = 0;
    return all;
  }
}
