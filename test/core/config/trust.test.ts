/** olliesrv trust|untrust|trusted: the built program, as a person and as a script run it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "#core";
import { type Folders, folders } from "./folders.ts";

/** script(1) of util-linux gives it a terminal. */
const terminal = spawnSync("script", ["--version"]).status === 0;
const trustedFile = (f: Folders) => join(f.home, ".config/ollie/trusted");

describe("trust", () => {
  test("shows what a folder's files say, and lets them count as they are", () => {
    const f = folders();
    const file = f.put("work/.ollie-sandbox.yaml", "network: none\n");
    f.put("work/other.yaml", "x");
    expect(f.olliesrv("trust", "--yes")).toEqual({
      status: 0,
      out: `${file}:\n  | network: none\n${file} is trusted\n`,
      err: "",
    });
    expect(readFileSync(trustedFile(f), "utf8")).toMatch(new RegExp(`^${file} [0-9a-f]{64}\n$`));
    expect(statSync(trustedFile(f)).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(f.home, ".config/ollie"))).toEqual(["trusted"]);
    expect(f.olliesrv("trust").out).toBe(`${file} is trusted already\n`);
    expect(f.olliesrv("trusted").out).toBe(`${file}\tas trusted\n`);
    f.put("work/.ollie-sandbox.yaml", "network: unrestricted\n");
    expect(f.olliesrv("trusted").out).toBe(`${file}\tchanged: does not count\n`);
    expect(f.olliesrv("trust", ".", "-y").out).toContain("  | network: unrestricted\n");
    expect(readFileSync(trustedFile(f), "utf8").split("\n")).toHaveLength(2);
    rmSync(file);
    expect(f.olliesrv("trusted").out).toBe(`${file}\tgone\n`);
  });

  test("asks, and does nothing where nobody answers", () => {
    const f = folders();
    f.put("work/.ollie-sandbox.yaml", "unconfined: true\n");
    const { status, out, err } = f.olliesrv("trust");
    expect([status, err]).toEqual([1, "olliesrv: nobody is here to ask: say --yes\n"]);
    expect(out).toContain("  | unconfined: true\n");
    expect(f.olliesrv("trusted").out).toBe("");
  });

  test.skipIf(!terminal).each([
    ["y", 0],
    ["n", 1],
    ["", 1],
  ])("on a terminal the answer %j gives status %d", (answer, status) => {
    const f = folders();
    const file = f.put("work/.ollie-sandbox.yaml", "network: none\n");
    const command = `${process.execPath} ${join(packageRoot(), "dist/core/bin/olliesrv.js")} trust`;
    const ended = spawnSync("script", ["-qec", command, "/dev/null"], {
      ...{ cwd: f.work, env: f.env, encoding: "utf8", timeout: 20_000, input: `${answer}\n` },
    });
    expect([ended.status, ended.stdout.includes(`${file} is trusted`)]).toEqual([status, status === 0]);
  });

  test("nothing in a file can hide, and it is the file that counts which a link leads to", () => {
    const f = folders();
    const real = f.put("elsewhere.yaml", "a: 1 # \u001b[8mhidden\u202e\r\n");
    symlinkSync(real, join(f.work, ".ollie-sandbox.yaml"));
    expect(f.olliesrv("trust", "-y").out).toBe(`${real}:\n  | a: 1 # \\u{1b}[8mhidden\\u{202e}\n${real} is trusted\n`);
  });

  test("nor can a file's name wipe out what was shown before", () => {
    const f = folders();
    f.put("work/.ollie\u001b[2J", "a: 1");
    const name = `${f.work}/.ollie\\u{1b}[2J`;
    expect(f.olliesrv("trust", "-y").out).toBe(`${name}:\n  | a: 1\n${name} is trusted\n`);
    expect(f.olliesrv("trusted").out).toBe(`${name}\tas trusted\n`);
    expect(f.olliesrv("trust").out).toBe(`${name} is trusted already\n`);
    expect(f.olliesrv("untrust").out).toBe(`${name} is not trusted any more\n`);
  });

  test("takes single files, and says what there is none of", () => {
    const f = folders();
    const agent = f.put("work/agents/a.json", "{}");
    expect(f.olliesrv("trust", "-y", agent).status).toBe(0);
    expect(f.olliesrv("trust", "-y").err).toBe(
      `olliesrv: ${f.work} has no file that ollie would read (.ollie*, ollie.config.ts)\n`,
    );
    expect(f.olliesrv("trust", "gone").err).toBe(`olliesrv: ${f.work}/gone does not exist\n`);
    mkdirSync(join(f.work, ".ollie-folder"));
    expect(f.olliesrv("trust").err).toBe(`olliesrv: ${f.work}/.ollie-folder is no regular file\n`);
  });
});

test("untrust takes what lies at a path, also when it is gone", () => {
  const f = folders();
  const [one, two] = [f.put("work/.ollie-sandbox.yaml", "{}"), f.put("work/ollie.config.ts", "export default 1")];
  const other = f.put("workshop/ollie.config.ts", "export default 2");
  for (const path of [f.work, other]) expect(f.olliesrv("trust", "-y", path).status).toBe(0);
  rmSync(one);
  expect(f.olliesrv("untrust").out).toBe(`${one} is not trusted any more\n${two} is not trusted any more\n`);
  expect(f.olliesrv("trusted").out).toBe(`${other}\tas trusted\n`);
  expect(f.olliesrv("untrust")).toMatchObject({
    status: 1,
    err: `olliesrv: nothing at ${f.work} is trusted (olliesrv trusted lists what is)\n`,
  });
});
