import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Place, place } from "./script.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.remove());
const put = (name: string, content = "") => {
  mkdirSync(dirname(at.path(name)), { recursive: true });
  writeFileSync(at.path(name), content);
};
const glob = (pattern: string, more = {}) => at.run("file_glob", { pattern, ...more });
const grep = (pattern: string, more = {}) => at.run("file_grep", { pattern, output_mode: "content", ...more });
const lines = (out: string) => out.split("\n").filter((line) => line !== "");

describe("file_glob", () => {
  test("H-053: ignored files, dotfiles, exact paths, order and cut lists", async () => {
    put(".gitignore", "node_modules\ndist\n");
    for (let i = 0; i < 500; i++) put(`node_modules/p/${i}.md`);
    for (const name of ["a.md", "b.md", "docs/c.md", "dist/a.js", ".env", ".github/w.md"]) put(name);
    utimesSync(at.path("b.md"), 2e9, 2e9);
    const found = lines((await glob("**/*.md")).out);
    expect(found).toHaveLength(3);
    expect(found[0]).toBe(at.path("b.md"));
    expect((await glob("dist/a.js")).out).toBe(`${at.path("dist/a.js")}\n`);
    expect((await glob("dist/*.js")).out).toBe(`${at.path("dist/a.js")}\n`);
    expect((await glob(".e*")).out).toBe(`${at.path(".env")}\n`);
    expect((await glob(".github/**")).out).toBe(`${at.path(".github/w.md")}\n`);
    expect(lines((await glob("node_modules/p/*.md")).out)).toHaveLength(500);
    const cut = await glob("node_modules/**/*.md", { limit: 7 });
    expect(lines(cut.out)).toHaveLength(8);
    expect(cut.out).toContain("[7 of 500 files, newest first; narrow the pattern or raise limit]");
    expect((await glob("*.nothing")).out).toBe("no files match *.nothing\n");
  });

  test("braces, classes, absolute patterns and path", async () => {
    for (const name of ["src/a.ts", "src/b.js", "src/lib/c.ts", "src/x1.go", "other/a.ts"]) put(name);
    const names = async (pattern: string, more = {}) =>
      lines((await glob(pattern, more)).out)
        .map((file) => file.slice(at.cwd.length + 1))
        .sort();
    expect(await names("src/*.{ts,js}")).toEqual(["src/a.ts", "src/b.js"]);
    expect(await names("**/a.ts")).toEqual(["other/a.ts", "src/a.ts"]);
    expect(await names("*.ts", { path: "src" })).toEqual(["src/a.ts"]);
    expect(await names("x[0-9].go", { path: at.path("src") })).toEqual(["src/x1.go"]);
    expect(await names(`${at.cwd}/src/**/*.ts`)).toEqual(["src/a.ts", "src/lib/c.ts"]);
    expect(await names("src/?.js")).toEqual(["src/b.js"]);
  });

  test("ignore rules: negation, anchors, folders, nested files", async () => {
    put(".gitignore", "*.log\n!keep.log\n/only-root\nbuild/\n");
    put("sub/.gitignore", "secret*\n");
    for (const name of ["a.log", "keep.log", "only-root", "sub/only-root", "sub/build/x", "sub/secret1", "sub/ok"])
      put(name);
    const found = lines((await glob("**/*")).out).map((file) => file.slice(at.cwd.length + 1));
    expect(found.sort()).toEqual(["keep.log", "sub/ok", "sub/only-root"]);
  });

  test("nothing outside, and no folder that is not there", async () => {
    expect((await glob("*", { path: "/" })).out).toContain("outside of the working directory");
    expect((await glob("../*")).out).toContain("outside of the working directory");
    expect((await glob("/etc/*")).out).toContain("outside of the working directory");
    expect((await glob("*", { path: "absent" })).out).toContain("there is no such folder");
    expect((await glob("*", { path: "" })).code).toBe(1);
  });
});

describe("file_grep", () => {
  test("H-049: patterns that start with a dash", async () => {
    put("f", "--flag\n-> x\n");
    expect((await grep("--flag")).out).toBe("f:00001| --flag\n");
    expect((await grep("-> x")).out).toBe("f:00002| -> x\n");
    expect(await grep("absent")).toEqual({ code: 0, out: "no matches\n" });
  });

  test("H-050: a match in a very long line comes with its column", async () => {
    put("min.js", `${"x".repeat(2_500_000)}needle${"y".repeat(2_500_000)}`);
    const { out } = await grep("needle");
    expect(out.length).toBeLessThan(1000);
    expect(out).toContain("needle");
    expect(out).toContain("match at 2500001]");
  });

  test("H-054: regular expressions and plain text", async () => {
    put("t", "f(x)\na|b\nfoo\nbar\n7\n");
    expect((await grep("foo|bar")).out).toBe("t:00003| foo\nt:00004| bar\n");
    expect((await grep("f\\(x\\)")).out).toBe("t:00001| f(x)\n");
    expect((await grep("a|b")).out).toBe("t:00002| a|b\nt:00004| bar\n");
    expect((await grep("\\d+")).out).toBe("t:00005| 7\n");
    for (const bad of ["f(", "[", "*x"]) {
      const result = await grep(bad);
      expect(result.code).toBe(1);
      expect(result.out).toContain(`the pattern ${bad} is no regular expression: `);
    }
    expect((await grep("f(", { literal: true })).out).toBe("t:00001| f(x)\n");
    expect((await grep("a|b", { literal: true })).out).toBe("t:00002| a|b\n");
    expect((await grep("[[:alpha:]]")).out).toContain("not known here");
    expect((await grep("(?i)FOO")).out).toBe("t:00003| foo\n");
  });

  test("habits of other dialects work or are refused, never silently different", async () => {
    put("t", 'say "hi" - {x}\nfn() {\n');
    expect((await grep('\\"hi\\"')).code).toBe(0);
    expect((await grep('\\"hi\\"')).out).toContain("t:00001");
    expect((await grep("fn\\(\\) {")).out).toBe("t:00002| fn() {\n");
    expect((await grep("{x}")).out).toContain("t:00001");
    expect((await grep("i{1,2}")).out).toContain("t:00001");
    expect((await grep("\\<say\\>")).code).toBe(1);
  });

  test("output modes, context, filters and paging", async () => {
    put("a.ts", "1\nhit\n3\n4\n5\nhit\n");
    put("b.js", "hit\n");
    put("lib/c.ts", "HIT\n");
    put("bin", "hit\0");
    put(".hidden", "hit\n");
    expect((await at.run("file_grep", { pattern: "hit" })).out).toBe("a.ts\nb.js\n");
    expect((await grep("hit", { output_mode: "count" })).out).toBe("a.ts:2\nb.js:1\n");
    expect((await grep("hit", { "-i": true, type: "ts" })).out).toBe(
      "a.ts:00002| hit\na.ts:00006| hit\nlib/c.ts:00001| HIT\n",
    );
    expect((await grep("hit", { glob: "*.js" })).out).toBe("b.js:00001| hit\n");
    expect((await grep("HIT", { glob: "lib/**" })).out).toBe("lib/c.ts:00001| HIT\n");
    expect((await grep("hit", { path: "a.ts", "-A": 1, "-n": false })).out).toBe("a.ts| hit\na.ts- 3\n--\na.ts| hit\n");
    expect((await grep("hit", { path: "a.ts", context: 1 })).out).toBe(
      "a.ts:00001- 1\na.ts:00002| hit\na.ts:00003- 3\n--\na.ts:00005- 5\na.ts:00006| hit\n",
    );
    expect((await grep("hit", { head_limit: 1 })).out).toBe(
      "a.ts:00002| hit\n[lines 1 to 1 of 3; go on with offset=1]\n",
    );
    expect((await grep("hit", { offset: 2 })).out).toBe("b.js:00001| hit\n[lines 3 to 3 of 3]\n");
    expect((await grep("hit", { hidden: true, output_mode: "files_with_matches" })).out).toBe(".hidden\na.ts\nb.js\n");
    expect((await grep("hit", { type: "nonsense" })).out).toContain("type must be one of");
    expect((await grep("3\\n4", { multiline: true })).out).toBe("a.ts:00003| 3\na.ts:00004| 4\n");
    expect((await grep("hit", { path: "../x" })).out).toContain("outside");
  });
});
