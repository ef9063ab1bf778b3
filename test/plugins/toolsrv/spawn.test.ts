import { once } from "node:events";
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSpawner, type Program, type Spawner } from "../../../plugins/toolsrv/server/spawn.ts";
import { means } from "./means.ts";

let dir: string;
let spawner: Spawner;

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie spawn '$(x) ")));
});
beforeAll(async () => {
  const native = await means();
  native?.libc.keepDescriptors();
  spawner = createSpawner(native);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const node = process.execPath;
/** Prints what it was started with. */
const mirror = `const b = (s) => Buffer.from(s).toString("base64");
let i = ""; process.stdin.on("data", (d) => i += d).on("end", () => console.log(JSON.stringify(
  { argv: process.argv.slice(1), env: process.env, cwd: process.cwd(), stdin: i })));`;

const program = (more: Partial<Program> = {}): Program => ({
  exec: node,
  argv: ["-e", mirror, "--"],
  env: {},
  cwd: dir,
  stdin: "",
  ...more,
});

async function outputOf(given: Program, by = spawner): Promise<string> {
  const { child, output } = by.start(given);
  let text = "";
  output.on("data", (chunk) => {
    text += chunk;
  });
  await Promise.all([once(child, "exit"), once(output, "close")]);
  return text;
}

describe("a program that is started", () => {
  test("hostile arguments, variables, folders and input arrive as they are", async () => {
    const nasty = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(
        "'",
        "''",
        "\\",
        "$(exit 9)",
        "`exit 9`",
        '"',
        "\n",
        "\r\n",
        "-e",
        "--",
        "}",
        "}\nexit 9\n{",
        "&",
        "",
      ),
      fc
        .array(fc.constantFrom("'", "\\", "$", "`", "\n", '"', " ", ";", "é", "\x01", "\xff", "!"), { maxLength: 40 })
        .map((parts) => parts.join("")),
    );
    const text = nasty.filter((value) => !value.includes("\0")).map((value) => Buffer.from(value).toString());
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 6 }),
        fc.dictionary(name, text, { maxKeys: 5 }),
        text,
        async (argv, env, stdin) => {
          fc.pre(!Object.hasOwn(env, "NODE_OPTIONS"));
          const seen = JSON.parse(await outputOf(program({ argv: ["-e", mirror, "--", ...argv], env, stdin })));
          expect(seen).toEqual({ argv, env: { ...env }, cwd: dir, stdin });
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each([true, false])(
    "variables that a shell would drop or keep for itself arrive (koffi: %s)",
    async (native) => {
      const env = {
        "a.b": "1",
        "npm_config_//host/:x": "it's",
        "-x": "2",
        UID: "u",
        OPTIND: "o",
        IFS: "",
        BASH_ENV: "/nowhere",
      };
      const seen = JSON.parse(await outputOf(program({ env }), native ? spawner : createSpawner(undefined)));
      expect(seen.env).toMatchObject(env);
    },
  );

  test("a NUL is refused with a reason", () => {
    expect(() => spawner.start(program({ argv: ["a\0"] }))).toThrow("null bytes");
  });

  test("of a script whose interpreter is missing, that is said", () => {
    const exec = join(dir, "orphan");
    writeFileSync(exec, "#! /nowhere/python3 -u\n", { mode: 0o755 });
    expect(() => spawner.start(program({ exec, argv: [] }))).toThrow(
      `${exec} wants /nowhere/python3, which is not there`,
    );
    writeFileSync(exec, "#!/bin/sh\n");
    const gone = join(dir, "gone");
    expect(() => spawner.start(program({ exec, argv: [], cwd: gone }))).toThrow(`spawn ${exec} ENOENT`);
  });

  test("what can not be started leaves no descriptor behind", () => {
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    for (let i = 0; i < 20; i++) expect(() => spawner.start(program({ exec: "/none" }))).toThrow("ENOENT");
    expect(open()).toBe(before);
  });

  test("status and signal are told, of many at once", async () => {
    const ends = Array.from({ length: 30 }, async (_, n) => {
      const { child, output } = spawner.start(program({ exec: "/bin/sh", argv: ["-c", `exit ${n}`] }));
      output.resume();
      return once(child, "exit");
    });
    expect(await Promise.all(ends)).toEqual(Array.from({ length: 30 }, (_, n) => [n, null]));
    const { child, output } = spawner.start(program({ exec: "/bin/sleep", argv: ["60"] }));
    output.resume();
    process.kill(child.pid as number, "SIGTERM");
    expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
  });

  test("has a session of its own, no signal ignored or blocked, and three descriptors", async () => {
    const show = "cut -d' ' -f1,6 /proc/self/stat; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd";
    const { child, output } = spawner.start(
      program({ exec: "/bin/sh", argv: ["-c", show], env: { PATH: "/usr/bin:/bin" } }),
    );
    let text = "";
    output.on("data", (chunk) => {
      text += chunk;
    });
    await Promise.all([once(child, "exit"), once(output, "close")]);
    const [ids = "", blocked, ignored, ...fds] = text.trim().split("\n");
    expect(ids.split(" ")[1]).toBe(String(child.pid));
    expect([blocked, ignored]).toEqual(["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    expect(fds).toEqual(["0", "1", "2", "3"]); // 3 is the folder that ls reads
  });
});
