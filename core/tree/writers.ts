/** Writers of the two commits: each message by itself, or everything at the clunk. */
import { NineError, OllieError } from "../errors.ts";
import { pathForSure } from "./call.ts";
import type { Site, Writer } from "./open.ts";

/** Most bytes of a write or of all of them; a file's `max` overrides it. */
export const defaultMax = 1 << 20;

export const tooLong = (name: string, max: number): NineError =>
  new NineError(`${name}: longer than its limit of ${max} bytes`);

/** `changed` is called when a write has taken effect. */
export function messageWriter(site: Site, changed: () => void): Writer {
  const { spec, name, owner } = site.file;
  const max = spec.max ?? defaultMax;
  return {
    write(data, answer) {
      if (data.length > max) return answer.fail(tooLong(name, max));
      const count = data.length;
      site.guard.run(
        owner,
        "write",
        site.node,
        site.guard.host.handlerLimit,
        () => spec.write?.(site.context(answer.abort), data),
        {
          ok() {
            changed();
            answer.ok(count);
          },
          fail: (error) => answer.fail(error),
        },
        answer.abort,
      );
    },
    close: (_commit, answer) => answer.ok(),
    pending: () => false,
  };
}

export function closeWriter(site: Site, trunc: boolean, changed: () => void): Writer {
  const { spec, name, owner } = site.file;
  const max = spec.max ?? defaultMax;
  let chunks: Uint8Array[] = [];
  let size = 0;
  let wrote = trunc;
  /** A write was refused: what came before it is a part, and a part never takes effect. */
  let spoiled: NineError | undefined;
  const dropped = (why: string) =>
    site.guard.host.report(
      owner.name,
      pathForSure(site.node),
      new OllieError("E_DROPPED", `${name}: ${size} bytes were dropped: ${why}`),
    );
  return {
    write(data, answer) {
      const total = size + data.length;
      const refuse = (error: NineError) => {
        spoiled = error;
        answer.fail(error);
      };
      if (spoiled) return answer.fail(spoiled);
      if (total > max) return refuse(tooLong(name, max));
      const check = spec.check;
      const take = () => {
        chunks.push(Uint8Array.prototype.slice.call(data));
        size = total;
        wrote = true;
        answer.ok(data.length);
      };
      if (!check) return take();
      site.guard.run(owner, "write", site.node, 0, () => check(site.context(answer.abort), total), {
        ok: take,
        fail: refuse,
      });
    },
    close(commit, answer) {
      const data = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
      chunks = [];
      if (!wrote && !spoiled) return answer.ok();
      if (!commit) {
        if (size > 0) dropped("the connection ended before the clunk");
        return answer.ok();
      }
      if (spoiled) return answer.fail(spoiled);
      site.guard.run(
        owner,
        "write",
        site.node,
        site.guard.host.handlerLimit,
        () => spec.write?.(site.context(site.abort), data),
        {
          ok() {
            changed();
            answer.ok();
          },
          fail(error) {
            dropped(error.message);
            answer.fail(error);
          },
        },
        site.abort,
      );
    },
    pending: () => wrote,
  };
}
