import { describe, expect, it } from "vitest";
import { startOptions } from "../../../plugins/o/args.ts";
import { commandOf } from "../../../plugins/o/commands.ts";
import { newlines, pasteFilter } from "../../../plugins/o/paste.ts";
import { nameFor } from "../../../plugins/o/session.ts";
import { printable } from "../../../plugins/o/style.ts";

describe("a paste", () => {
  const keys = "a\x1b[200~one\r\ntwo\tx\nthree\x1b[201~b\r";

  it("stays one entry, newlines and all", () => {
    const line = pasteFilter()(keys);
    expect(line.match(/[\r\n]/g)).toEqual(["\r"]);
    expect(newlines(line)).toBe("aone\ntwo    x\nthreeb\r");
  });

  it("is the same wherever it is cut, but behind the first escape, which may be the Escape key", () => {
    const whole = pasteFilter()(keys);
    const cuts = [...keys].map((_, at) => at).filter((at) => at !== 2);
    for (const at of cuts) {
      const filter = pasteFilter();
      expect(filter(keys.slice(0, at)) + filter(keys.slice(at))).toBe(whole);
    }
  });

  it("can not press keys", () => {
    expect(newlines(pasteFilter()("\x1b[200~rm\x03\x1b[A\x1b[201~"))).toBe("rm[A");
  });

  it("does not hold back the Escape key", () => {
    expect(pasteFilter()("\x1b")).toBe("\x1b");
  });
});

describe("the command line", () => {
  it("takes words as the question", () => {
    expect(startOptions(["--unsandboxed", "what", "is this?"])).toMatchObject({
      unsandboxed: true,
      question: "what is this?",
    });
  });

  it("has no question without words", () => {
    expect(startOptions(["--model", "m"])).toMatchObject({ model: "m", question: undefined });
  });

  it("refuses options that it does not know", () => {
    expect(() => startOptions(["--modle", "m"])).toThrow(/^Unknown option '--modle' \(see npm start -- --help\)$/);
  });
});

describe("a session's name", () => {
  it.each([
    ["/home/ann/my project", "my-project"],
    ["/home/ann/.config", "config"],
    ["/", "session"],
    ["/srv/new", "session"],
    ["/srv/größe_2", "größe-2".replace("-", "_")],
  ])("of %s is %s", (cwd, name) => {
    expect(nameFor(cwd)).toBe(name);
  });
});

describe("a line with a slash", () => {
  it("is a command where it is known", () => {
    expect(commandOf("/model gpt")).toEqual({ kind: "ctl", line: "model gpt" });
    expect(commandOf("/stop")).toEqual({ kind: "ctl", line: "stop" });
    expect(commandOf("/quit")).toEqual({ kind: "quit" });
  });

  it("is a prompt otherwise", () => {
    expect(commandOf("/etc/passwd: what is it?")).toBeUndefined();
    expect(commandOf("/frobnicate")).toBeUndefined();
  });
});

it("control characters of others do not reach the terminal", () => {
  expect(printable("a\x1b[2Jb\r\n\tc\u009b")).toBe("a·[2Jb·\n\tc·");
});
