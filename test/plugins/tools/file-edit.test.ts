import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Place, place } from "./script.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.remove());

const bytes = (name: string) => readFileSync(at.path(name));
const text = (name: string) => readFileSync(at.path(name), "latin1");
const put = (name: string, content: string | Buffer, mode = 0o644) => {
  writeFileSync(at.path(name), content);
  chmodSync(at.path(name), mode);
};
const read = (name: string, more = {}) => at.run("file_read", { file_path: name, ...more });
const write = (name: string, content: string) => at.run("file_write", { file_path: name, content });
/** Reads, then edits. */
const edit = async (name: string, old_string: string, new_string: string, more = {}) => {
  await read(name);
  return at.run("file_edit", { file_path: name, old_string, new_string, ...more });
};

describe("file_edit", () => {
  test("replaces one piece and shows a diff", async () => {
    put("f", "one\ntwo\nthree\n");
    expect(await edit("f", "two", "2")).toEqual({
      code: 0,
      out: "changed f: 1 line added, 1 removed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    });
    expect(text("f")).toBe("one\n2\nthree\n");
  });

  test("H-041: line ends are kept", async () => {
    put("f", "a\r\nb\r\nc\r\n");
    expect((await edit("f", "a\nb", "a\nB")).code).toBe(0);
    expect(text("f")).toBe("a\r\nB\r\nc\r\n");
    expect((await edit("f", "B", "B\nb2")).code).toBe(0);
    expect(text("f")).toBe("a\r\nB\r\nb2\r\nc\r\n");
    expect((await edit("f", "a\r\nB", "A\r\nB")).code).toBe(0);
    expect(text("f")).toBe("A\r\nB\r\nb2\r\nc\r\n");
    expect((await write("new", "x\r\ny\nz")).code).toBe(0);
    expect(text("new")).toBe("x\r\ny\nz");
    put("lf", "a\nb\n");
    expect((await edit("lf", "a\r\nb", "a\nB")).code).toBe(0);
    expect(text("lf")).toBe("a\nB\n");
  });

  test("H-042: only named bytes change", async () => {
    put("f", "x\r\ny\nz p1\rp2\nend");
    expect((await edit("f", "y", "Y")).code).toBe(0);
    expect(text("f")).toBe("x\r\nY\nz p1\rp2\nend");
  });

  test("H-043: bytes that are not UTF-8 stay", async () => {
    put("f", Buffer.from("const x=1;\n// caf\xe9\n", "latin1"));
    expect((await read("f")).out).toContain("not UTF-8");
    expect((await edit("f", "x=1", "x=2")).code).toBe(0);
    expect(bytes("f")).toEqual(Buffer.from("const x=2;\n// caf\xe9\n", "latin1"));
    const refused = await edit("f", "x=2", "x=ü");
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("is not UTF-8") });
    expect(bytes("f")).toEqual(Buffer.from("const x=2;\n// caf\xe9\n", "latin1"));
  });

  test("text beyond ASCII is replaced in UTF-8 files, a byte order mark stays", async () => {
    put("f", "\ufeffgrüße €\n");
    expect((await edit("f", "ü", "u€")).code).toBe(0);
    expect(readFileSync(at.path("f"), "utf8")).toBe("\ufeffgru€ße €\n");
  });

  test("H-044: mode and owner stay, no other files appear", async () => {
    put("s.sh", "echo a\n", 0o755);
    put("key", "secret\n", 0o600);
    put("g", "group\n", 0o664);
    const inodes = ["s.sh", "key", "g"].map((name) => statSync(at.path(name)).ino);
    expect((await edit("s.sh", "a", "b")).code).toBe(0);
    expect((await edit("key", "secret", "other")).code).toBe(0);
    expect((await edit("g", "group", "grp")).code).toBe(0);
    for (const name of ["s.sh", "key", "g"]) expect((await write(name, "new content\n")).code).toBe(0);
    const before = process.umask(0o002);
    await write("new.txt", "x");
    process.umask(before);
    const modes = ["s.sh", "key", "g", "new.txt"].map((name) => statSync(at.path(name)).mode & 0o777);
    expect(modes).toEqual([0o755, 0o600, 0o664, 0o664]);
    expect(["s.sh", "key", "g"].map((name) => statSync(at.path(name)).ino)).toEqual(inodes);
    expect(readdirSync(at.cwd).sort()).toEqual(["g", "key", "new.txt", "s.sh"]);
  });

  test("H-046: a file that changed since it was read is not replaced", async () => {
    put("f", "mine\n");
    await read("f");
    writeFileSync(at.path("f"), "mine\nnew\n");
    const refused = await write("f", "all new\n");
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("has changed since it was read") });
    expect(text("f")).toBe("mine\nnew\n");
    put("g", "a b\n");
    await read("g");
    expect((await at.run("file_edit", { file_path: "g", old_string: "a", new_string: "A" })).code).toBe(0);
    expect((await at.run("file_edit", { file_path: "g", old_string: "b", new_string: "B" })).code).toBe(0);
    expect((await write("g", "C\n")).code).toBe(0);
    expect(text("g")).toBe("C\n");
  });

  test("an edit of a changed file is exact, but does not count as having read it", async () => {
    put("f", "one\ntwo\n");
    await read("f");
    writeFileSync(at.path("f"), "one\ntwo\nthree\n");
    const result = await at.run("file_edit", { file_path: "f", old_string: "one", new_string: "1" });
    expect(result).toMatchObject({ code: 0, out: expect.stringContaining("had changed since you read it") });
    expect((await write("f", "x")).code).toBe(1);
    expect(text("f")).toBe("1\ntwo\nthree\n");
  });

  test("what one agent read does not let another replace it", async () => {
    put("f", "a\n");
    await read("f");
    const other = { OLLIE_AGENT_ID: "agent-2" };
    const refused = await at.run("file_write", { file_path: "f", content: "b" }, other);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining("was not read yet") });
  });

  test("H-047: blanks that differ are an error with the place, and nothing is touched", async () => {
    const python = "def f():\n    if a:\n        x = 1\n    return x\n";
    put("f.py", python);
    const result = await edit("f.py", "    x  =  1", "    x = 100");
    expect(result).toMatchObject({ code: 1, out: expect.stringContaining("differs in whitespace at line 3") });
    expect(text("f.py")).toBe(python);
    expect((await edit("f.py", "x = 1", "x = 100")).code).toBe(0);
    const again = await edit("f.py", "        x = 1\n", "        x = 100\n");
    expect(again).toMatchObject({ code: 1, out: expect.stringContaining("new_string is there already at line 3") });
  });

  test("H-048: ambiguous and degenerate edits", async () => {
    put("f", "a\na\n");
    mkdirSync(at.path("dir"));
    const before = statSync(at.path("f")).mtimeMs;
    const several = await edit("f", "a", "b");
    expect(several).toMatchObject({ code: 1, out: expect.stringContaining("2 times (lines 1, 2)") });
    expect((await edit("f", "a", "a")).code).toBe(1);
    expect((await edit("f", "", "b")).code).toBe(1);
    expect((await edit("absent", "a", "b")).out).toBe("absent does not exist\n");
    expect((await edit("dir", "a", "b")).out).toBe("dir is a directory, not a regular file\n");
    expect(statSync(at.path("f")).mtimeMs).toBe(before);
    const all = await edit("f", "a", "$& $1 \\n", { replace_all: true });
    expect(all).toMatchObject({ code: 0, out: expect.stringContaining("2 replaced") });
    expect(text("f")).toBe("$& $1 \\n\n$& $1 \\n\n");
  });

  test("H-055: tabs and pasted line numbers", async () => {
    put("Makefile", "all:\n\techo hi\n");
    expect((await read("Makefile")).out).toBe("    1| all:\n    2| \techo hi\n");
    const blanks = await edit("Makefile", "    echo hi", "    echo ho");
    expect(blanks).toMatchObject({ code: 1, out: expect.stringContaining("differs in whitespace at line 2") });
    const numbers = await edit("Makefile", "    1| all:\n    2| \techo hi", "x");
    expect(numbers).toMatchObject({ code: 1, out: expect.stringContaining("line numbers of file_read") });
    expect(text("Makefile")).toBe("all:\n\techo hi\n");
  });

  test("a file must be read before it is changed or replaced", async () => {
    put("f", "a\n");
    expect((await at.run("file_edit", { file_path: "f", old_string: "a", new_string: "b" })).out).toContain(
      "not read yet",
    );
    expect((await write("f", "b")).out).toContain("was not read yet");
  });
});

describe("file_write", () => {
  test("makes folders, and what it made may be changed at once", async () => {
    expect(await write("a/b/c.txt", "one\n")).toEqual({
      code: 0,
      out: "created a/b/c.txt: 1 line added, 0 removed\n@@ -0,0 +1,1 @@\n+one\n",
    });
    expect((await write("a/b/c.txt", "two")).out).toContain("+two\n\\ No newline at end of file");
    expect((await write("a/b/c.txt", "two")).out).toBe("a/b/c.txt has this content already\n");
    expect((await write("a/b/c.txt/d", "x")).code).toBe(1);
    expect((await write("dir/", "x")).code).toBe(1);
  });

  test("H-051: nothing outside of the working directory", async () => {
    const other = `${at.cwd}-other`;
    mkdirSync(other);
    writeFileSync(`${other}/x`, "theirs\n");
    symlinkSync(other, at.path("out"));
    symlinkSync(`${other}/absent`, at.path("dangling"));
    for (const name of [
      `${other}/x`,
      `../${other.split("/").at(-1)}/x`,
      `${at.cwd}/../${other.split("/").at(-1)}/x`,
      "out/x",
    ]) {
      for (const ran of [await read(name), await write(name, "mine"), await edit(name, "theirs", "mine")])
        expect(ran).toMatchObject({ code: 1, out: expect.stringContaining("is outside of the working directory") });
    }
    expect((await write("out/new", "x")).code).toBe(1);
    expect((await write("dangling", "x")).code).toBe(1);
    expect(readFileSync(`${other}/x`, "utf8")).toBe("theirs\n");
    expect(existsSync(`${other}/new`)).toBe(false);
    put("x", "mine\n");
    expect((await read(at.path("x"))).code).toBe(0);
    symlinkSync(at.cwd, `${dirname(at.cwd)}/link`);
    expect((await read(`${dirname(at.cwd)}/link/x`)).code).toBe(0);
    expect((await at.run("file_read", { file_path: `${other}/x` }, { OLLIE_ROOTS: `/nowhere:${other}` })).code).toBe(0);
  });
});
