import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKernel, packageRoot } from "#core";
import { readTools, registry, Tools, toolDirs } from "#plugins/tools";
import { toolsIndex } from "../../../plugins/tools/files.ts";
import toolsPlugin from "../../../plugins/tools/index.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ollie-meta-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (name: string, meta: unknown, { in: folder = dir, exec = true } = {}) => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.meta`), typeof meta === "string" ? meta : JSON.stringify(meta));
  if (exec) writeFileSync(join(folder, name), "#!/bin/sh\n", { mode: 0o755 });
};
const object = (properties: object, more = {}) => ({ type: "object", properties, ...more });
const reasonOf = (name: string) => readTools([dir]).bad.find(({ file }) => file.endsWith(`/${name}.meta`))?.reason;

describe(".meta files", () => {
  test("every field is read, and has a default", () => {
    put("plain", { description: " does it " });
    put("full", {
      description: "d",
      prompt: "p",
      args: object({ path: { type: "string" }, n: { type: "integer" } }, { required: ["path"] }),
      aliases: { file: "path" },
      scope: "write",
      tier: "hot",
      outputFormat: "diff",
      sudo: true,
      exact: true,
      timeout: 0,
    });
    put("reader", { description: "d", readOnly: true });
    const [full, plain, reader] = readTools([dir]).tools;
    expect(plain).toEqual({
      name: "plain",
      description: "does it",
      args: { type: "object", properties: {} },
      scope: "global",
      tier: "warm",
      readOnly: false,
      exact: false,
      sudo: false,
      timeout: 30,
      exec: join(dir, "plain"),
      meta: join(dir, "plain.meta"),
    });
    expect(full).toMatchObject({ prompt: "p", scope: "write", pathArg: "path", tier: "hot", sudo: true, timeout: 0 });
    expect(full).toMatchObject({ aliases: { file: "path" }, outputFormat: "diff", exact: true });
    expect(reader?.scope).toBe("read");
  });

  test("H-072: bad files are refused with file and reason, good ones work", () => {
    put("good", { description: "d" });
    put("bad1", { description: "d", args: { type: "string" } });
    put("bad2", '{"description": ');
    put("bad3", { description: "d", name: "a b/c" });
    put("bad4", { description: "d", name: "good" });
    put("a b", { description: "d" });
    put("noexec", { description: "d" }, { exec: false });
    put("nodesc", {});
    put("list", "[]");
    expect(readTools([dir]).tools.map(({ name }) => name)).toEqual(["good"]);
    expect(reasonOf("bad1")).toBe('args must have "type": "object", not "string"');
    expect(reasonOf("bad2")).toMatch(/^broken JSON: /);
    expect(reasonOf("bad3")).toBe('name is "a b/c", but a tool is called like its file');
    expect(reasonOf("bad4")).toBe('name is "good", but a tool is called like its file');
    expect(reasonOf("a b")).toBe("the name must be 1 to 64 letters, digits, _ or -");
    expect(reasonOf("noexec")).toBe("noexec beside it is missing or not executable (chmod +x)");
    expect(reasonOf("nodesc")).toBe("description is missing");
    expect(reasonOf("list")).toBe("a .meta must be a JSON object");
  });

  test("H-072: schemas that a provider would refuse", () => {
    const bad = (name: string, args: unknown) => put(name, { description: "d", args });
    bad("type", object({ a: { type: "strng" } }));
    bad("items", object({ a: { type: "array" } }));
    bad("req", object({ a: {} }, { required: ["b"] }));
    bad("enum", object({ a: { enum: [] } }));
    bad("flag", object({ timeout: { type: "integer" } }));
    bad("deep", object({ a: object({ b: { type: "nope" } }) }));
    expect(reasonOf("type")).toContain("args.properties.a.type must be one of string number");
    expect(reasonOf("items")).toBe('args.properties.a is an array and needs "items"');
    expect(reasonOf("req")).toBe('args.required names "b", which is not in properties');
    expect(reasonOf("enum")).toContain("enum must be an array");
    expect(reasonOf("flag")).toBe('argument "timeout" is added by ollie itself, give it another name');
    expect(reasonOf("deep")).toContain("args.properties.a.properties.b.type");
  });

  test("the first variant whose conditions hold decides", () => {
    put("t", {
      description: "base",
      variants: [
        { when: { os: "plan9" }, description: "plan 9" },
        { binary: "no-such-program", description: "needs it" },
        {
          when: { os: [process.platform, "plan9"], binary: ["sh", "cat"], file: "/etc" },
          exec: "t.sh",
          description: "here",
        },
        { description: "last" },
      ],
    });
    expect(reasonOf("t")).toContain("t.sh beside it is missing");
    writeFileSync(join(dir, "t.sh"), "", { mode: 0o755 });
    expect(readTools([dir]).tools[0]).toMatchObject({ description: "here", exec: join(dir, "t.sh") });
    put("e", { description: "d", variants: [{ env: "E1", nenv: "E2", description: "env" }] });
    const described = (env: NodeJS.ProcessEnv) =>
      readTools([dir], { PATH: process.env.PATH, ...env }).tools[0]?.description;
    expect(described({ E1: "1" })).toBe("env");
    expect(described({ E1: "1", E2: "1" })).toBe("d");
    expect(described({})).toBe("d");
    put("n", { description: "d", variants: [{ when: { arch: "pdp11" } }] }, { exec: false });
    expect(reasonOf("n")).toBe("no variant fits this host, and there is no executable n");
    put("u", { description: "d", variants: [{ when: { moon: "full" } }] });
    expect(reasonOf("u")).toContain('unknown condition "moon"');
    put("x", { description: "d", exec: "../x" });
    expect(reasonOf("x")).toBe("exec must be the name of a file in the same folder");
  });

  test("a command of the host needs no file, and a missing one is looked for again", () => {
    const bin = join(dir, "bin");
    const at = (env: NodeJS.ProcessEnv) => registry(() => [dir], env);
    mkdirSync(bin);
    put("count", { description: "d", command: ["wc", "-l", "--"] }, { exec: false });
    expect(at({ PATH: `.:${bin}:/usr/bin:/bin` }).get("count")).toMatchObject({
      exec: undefined,
      command: [expect.stringMatching(/^\/.*\/wc$/), "-l", "--"],
    });
    const later = at({ PATH: bin });
    expect(later.get("count")).toBeUndefined();
    expect(later.bad()[0]?.reason).toBe("program wc is not found or not executable, nor is a file count beside it");
    writeFileSync(join(bin, "wc"), "", { mode: 0o755 });
    const found = later.get("count");
    expect(found?.command).toEqual([join(bin, "wc"), "-l", "--"]);
    expect(later.get("count")).toBe(found);
    rmSync(join(bin, "wc"));
    expect(later.get("count")).toBeUndefined();
  });

  test("a program that is out of reach by now takes no other tool with it, and a command is shown in one line", () => {
    const bin = join(dir, "bin");
    put("good", { description: "d" });
    put("t", { description: "d", command: ["prog", "a\n## b"] }, { exec: false });
    put("prog", {}, { in: bin });
    const tools = registry(() => [dir], { PATH: bin });
    expect(toolsIndex(tools)).toContain(`command: ${join(bin, "prog")} a ## b\n`);
    rmSync(join(bin, "prog"));
    symlinkSync("prog", join(bin, "prog"));
    expect(tools.list().map(({ name }) => name)).toEqual(["good"]);
    expect(tools.get("t")).toBeUndefined();
  });

  test("where the host has no such program the file beside is run", () => {
    put("t", { description: "d", command: ["no-such-program"] });
    const tools = registry(() => [dir], { PATH: "/usr/bin:/bin" });
    expect(tools.get("t")).toMatchObject({ exec: join(dir, "t") });
    expect(tools.get("t")).not.toHaveProperty("command");
  });

  test("a command is words, its program a name or an absolute path", () => {
    for (const [n, command] of ["wc", [], [1], ["./wc"], ["a/b"], [""], ["wc", "\0"]].entries()) {
      put(`c${n}`, { description: "d", command });
      expect(reasonOf(`c${n}`)).toBe(
        "command must be an array of strings without null characters, the first a program's name or absolute path",
      );
    }
  });

  test("the first folder wins, and changes on disk count at the next look", () => {
    const second = join(dir, "second");
    put("t", { description: "one" });
    put("t", { description: "two" }, { in: second });
    put("other", { description: "other" }, { in: second });
    const tools = registry(() => [dir, join(dir, "absent"), second], process.env);
    const shown = () => tools.list().map(({ name, description }) => `${name}: ${description}`);
    expect(shown()).toEqual(["other: other", "t: one"]);
    put("t", { description: "one, changed" });
    expect(shown()).toEqual(["other: other", "t: one, changed"]);
    chmodSync(join(dir, "t"), 0o644);
    expect(shown()).toEqual(["other: other", "t: two"]);
    expect(tools.bad()).toHaveLength(1);
    chmodSync(join(dir, "t"), 0o755);
    rmSync(join(dir, "t.meta"));
    expect(shown()).toEqual(["other: other", "t: two"]);
    expect(tools.bad()).toEqual([]);
    expect(tools.get("nope")).toBeUndefined();
  });

  test("folders: OLLIE_TOOLS_PATH, else the user's, and always the package's last", () => {
    const own = join(packageRoot(), "data", "tools");
    expect(toolDirs({ OLLIE_TOOLS_PATH: "/a::~/b", HOME: "/h" })).toEqual(["/a", "/h/b", own]);
    expect(toolDirs({ HOME: "/h" })).toEqual(["/h/.config/ollie/tools", own]);
    expect(toolDirs({ OLLIE_CFG_PATH: "/cfg" })).toEqual(["/cfg/tools", own]);
    expect(toolDirs({ OLLIE_TOOLS_PATH: own })).toEqual([own]);
  });

  test("the stock tools are all good", () => {
    const { tools, bad } = readTools([join(packageRoot(), "data", "tools")]);
    expect(bad).toEqual([]);
    expect(tools.map(({ name, scope }) => `${name} ${scope}`)).toEqual([
      "file_edit write",
      "file_glob read",
      "file_grep read",
      "file_read read",
      "file_write write",
      "reasoning_think read",
      "shell global",
      "tool_load read",
    ]);
  });
});

describe("/tools", () => {
  test("shows a block per tool, then what was refused", async () => {
    put("t", { description: "does\nit", args: object({ b: {}, a: {} }, { required: ["a"] }), scope: "read" });
    put("bad", "{");
    const kernel = createKernel({ plugins: [toolsPlugin({ dirs: [dir] })] });
    await kernel.start();
    const shown = await kernel.fs.read("/tools");
    expect(shown).toMatch(
      /^## t\ndescription: does it\nargs: \[b\] a\nscope: read\nfile: .*\/t\n\n## !.*\/bad\.meta\nerror: broken JSON: .*\n\n$/,
    );
    expect(kernel.use(Tools)?.dirs()).toEqual([dir]);
    expect((await kernel.fs.stat("/tools")).mode & 0o777).toBe(0o444);
    await kernel.close();
  });

  test("is empty where there are none", () => {
    expect(toolsIndex(registry(() => [dir], {}))).toBe("");
  });
});
