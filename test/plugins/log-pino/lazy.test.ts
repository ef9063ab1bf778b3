import { expect, it, vi } from "vitest";
import type { Logger } from "#core";
import { lazyLogger } from "../../../plugins/log-pino/lazy.ts";
import { readLevels } from "../../../plugins/log-pino/levels.ts";

function recorder() {
  const lines: unknown[] = [];
  const make = (fields: object): Logger => {
    const at = (level: string) => (message: string, more?: object) =>
      void lines.push([level, message, { ...fields, ...more }]);
    const child = (more: object) => make({ ...fields, ...more });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child };
  };
  return { lines, load: vi.fn(async () => make({})) };
}

it("nothing is loaded for lines that are not written", async () => {
  const { lines, load } = recorder();
  const { log, written } = lazyLogger(readLevels("warn", {}), load);
  log.info("one");
  log.child({ plugin: "p" }).debug("two");
  await written();
  expect(load).not.toHaveBeenCalled();
  expect(lines).toEqual([]);
});

it("lines that come while it loads are kept in order, later ones are written at once", async () => {
  const { lines, load } = recorder();
  const { log, written } = lazyLogger(readLevels("warn", { OLLIE_P_LOG: "debug" }), load);
  const child = log.child({ plugin: "p" });
  log.warn("one", { n: 1 });
  child.debug("two");
  child.child({ agent: "a" }).error("three");
  expect(lines).toEqual([]);
  await written();
  child.info("four");
  log.info("not this one");
  expect(load).toHaveBeenCalledTimes(1);
  expect(lines).toEqual([
    ["warn", "one", { n: 1 }],
    ["debug", "two", { plugin: "p" }],
    ["error", "three", { plugin: "p", agent: "a" }],
    ["info", "four", { plugin: "p" }],
  ]);
});

it("it is loaded at once where it has to tell of a wrong level", async () => {
  const { load } = recorder();
  await lazyLogger(readLevels("warn", { OLLIE_LOG: "loud" }), load).written();
  expect(load).toHaveBeenCalledTimes(1);
});

it("where it can not be loaded nobody is hurt, and the next line tries again", async () => {
  const { lines, load } = recorder();
  load.mockRejectedValueOnce(new Error("EMFILE: too many open files"));
  const { log, written } = lazyLogger(readLevels("warn", {}), load);
  log.warn("one");
  await written();
  expect(lines).toEqual([]);
  log.warn("two");
  await written();
  log.warn("three");
  expect(lines.map((line) => (line as unknown[])[1])).toEqual(["one", "two", "three"]);
  expect(load).toHaveBeenCalledTimes(2);
});
