import { type Base, buildTree, dir, leaf, type Node, type Principal } from "ollie/tree";
import { describe, expect, test } from "vitest";
import { NineError } from "#core";
import { failure } from "../kit.ts";
import { agent, openAt, user } from "./open.ts";

const hook: Principal = { name: "glenda", groups: ["glenda"], kind: "hook" };
const tree = (...nodes: Node<Base>[]) => buildTree(nodes, { user: "glenda" });
const file = (mode: number, more: object = {}) =>
  leaf<Base>("f", { doc: "x", mode, read: () => "x", write: () => {}, ...more });

describe("mode bits", () => {
  test.each([
    ["others", 0o604, agent("a"), true, false],
    ["others, none", 0o600, agent("a"), false, false],
    ["the group", 0o640, agent("a"), true, false],
    ["the owner", 0o200, agent("o"), false, true],
    ["the daemon's user, whom they do not bind", 0o000, user, true, true],
    ["a hook, which acts for the user", 0o000, hook, true, true],
  ])("of %s", async (_who, mode, as, mayRead, mayWrite) => {
    const t = tree(file(mode, { gid: "agent", ...(as.name === "o" && { uid: "o" }) }));
    const refused = (how: object) => {
      try {
        openAt(t, "/f", { as, ...how });
      } catch (error) {
        return (error as Error).message;
      }
    };
    const words = (may: boolean) => (may ? undefined : "permission denied");
    expect(refused({ read: true })).toBe(words(mayRead));
    expect(refused({ read: false, write: true })).toBe(words(mayWrite));
  });

  test("count together over all classes that somebody belongs to", async () => {
    const t = tree(file(0o402, { uid: "a", gid: "none" }));
    expect(await openAt(t, "/f", { as: agent("a"), read: true, write: true }).read()).toBe("x");
  });

  test("owner and group come from the directory above where a file has none", async () => {
    const t = tree(dir("d", { uid: "someone", gid: "some" }, leaf("f", { doc: "x", read: () => "x" })));
    expect(t.stat(t.find("/d/f", user), user)).toMatchObject({ uid: "someone", gid: "some" });
    expect(t.stat(t.find("/", user), user)).toMatchObject({ uid: "glenda", gid: "glenda" });
  });

  test("a directory is walked with x and listed with r", async () => {
    const t = tree(
      dir("walk", { mode: 0o711 }, leaf("f", { doc: "x", read: () => "x" })),
      dir("list", { mode: 0o744 }, leaf("f", { doc: "x", read: () => "x" })),
    );
    const as = agent();
    expect(await openAt(t, "/walk/f", { as }).read()).toBe("x");
    expect(await failure(() => t.list(t.find("/walk", as), as))).toBe("permission denied");
    expect(t.list(t.find("/list", as), as)).toHaveLength(1);
    expect(await failure(() => t.find("/list/f", as))).toBe("permission denied");
  });

  test("what no handler does, not even the user can", async () => {
    const t = tree(leaf("r", { doc: "x", read: () => "x" }), leaf("w", { doc: "x", write: () => {} }));
    expect(await failure(() => openAt(t, "/r", { read: false, write: true }))).toBe("permission denied");
    expect(await failure(() => openAt(t, "/w"))).toBe("permission denied");
  });
});

describe("deny", () => {
  test("refuses with its own words, for the operation that it is asked about", async () => {
    const asked: string[] = [];
    const deny = ({ name }: Principal, op: string, c: Base) => {
      asked.push(`${name} ${op} ${c.path}`);
      return op === "w" ? "f: only the user writes" : undefined;
    };
    const t = tree(file(0o666, { deny }));
    expect(await openAt(t, "/f", { as: agent("a") }).read()).toBe("x");
    expect(await failure(() => openAt(t, "/f", { as: agent("a"), write: true }))).toBe("f: only the user writes");
    expect(asked).toEqual(["a r /f", "a r /f", "a w /f"]);
  });

  test("does not bind the user", async () => {
    const t = tree(file(0o666, { deny: () => "no" }));
    expect(await openAt(t, "/f").read()).toBe("x");
  });

  test("does not open what the mode closes", async () => {
    const t = tree(file(0o600, { deny: () => undefined }));
    expect(await failure(() => openAt(t, "/f", { as: agent() }))).toBe("permission denied");
  });

  test.each<[string, () => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
      "tree: open /f: broken",
    ],
    [
      "throws a NineError",
      () => {
        throw new NineError("not you");
      },
      "not you",
    ],
    ["gives a promise", async () => undefined, "tree: open /f: deny gave object, not text"],
    ["gives null", () => null, "tree: open /f: deny gave object, not text"],
    ["gives false", () => false, "tree: open /f: deny gave boolean, not text"],
  ])("that %s fails closed", async (_what, deny, message) => {
    const t = tree(file(0o666, { deny }));
    expect(await failure(() => openAt(t, "/f", { as: agent() }))).toBe(message);
  });
});
