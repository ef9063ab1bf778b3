import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadLibc } from "#plugins/toolsrv";
import { canTell, scriptOf } from "../../../plugins/toolsrv/server/script.ts";
import { createSpawner, type Program, type Spawner } from "../../../plugins/toolsrv/server/spawn.ts";
import { alive, until } from "./processes.ts";

let dir: string;
let spawner: Spawner;

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "ollie spawn '$(x) ")));
});
beforeEach(async () => {
  const { libc } = await loadLibc();
  libc?.keepDescriptors();
  spawner = createSpawner({ libc, cookie: `${randomUUID()}.spare.` });
});
afterEach(() => spawner.close());
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

async function outputOf(given: Program): Promise<string> {
  const { child, output } = spawner.start(given);
  let text = "";
  output.on("data", (chunk) => {
    text += chunk;
  });
  await Promise.all([once(child, "exit"), once(output, "close")]);
  return text;
}

describe("a spare", () => {
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
          const given = program({ argv: ["-e", mirror, "--", ...argv], env, stdin });
          fc.pre(canTell(given) && !Object.hasOwn(env, "NODE_OPTIONS"));
          spawner.prepare();
          const seen = JSON.parse(await outputOf(given));
          expect(seen).toEqual({ argv, env: seen.env, cwd: dir, stdin });
          // bash adds these to what it starts.
          for (const added of ["_", "SHLVL"]) if (!Object.hasOwn(env, added)) delete seen.env[added];
          expect(seen.env).toEqual({ ...env });
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each([true, false])("variables that a shell would drop or keep for itself arrive (spare: %s)", async (spare) => {
    const env = {
      "a.b": "1",
      "npm_config_//host/:x": "it's",
      "-x": "2",
      UID: "u",
      OPTIND: "o",
      IFS: "",
      BASH_ENV: "/nowhere",
    };
    if (spare) spawner.prepare();
    const seen = JSON.parse(await outputOf(program({ env })));
    expect(seen.env).toMatchObject(env);
  });

  test("a NUL is refused with a reason, and the spare waits on", () => {
    spawner.prepare();
    const { spare } = spawner;
    expect(() => spawner.start(program({ argv: ["a\0"] }))).toThrow("null bytes");
    expect(spawner.spare).toBe(spare);
  });

  test("serves once, and another is forked behind it", async () => {
    spawner.prepare();
    const first = spawner.spare;
    const pids = [];
    for (let i = 0; i < 3; i++) {
      const { child, output } = spawner.start(program({ exec: "/bin/true", argv: [] }));
      output.resume();
      pids.push(child.pid);
      await once(child, "exit");
      await until(() => spawner.spare !== undefined);
    }
    expect(pids[0]).toBe(first);
    expect(new Set(pids).size).toBe(3);
  });

  test("one that was killed is replaced by a plain start", async () => {
    spawner.prepare();
    const pid = spawner.spare as number;
    process.kill(pid, "SIGKILL");
    await until(() => !alive(pid));
    expect(await outputOf(program({ exec: "/bin/echo", argv: ["fine"] }))).toBe("fine\n");
    expect(await outputOf(program({ exec: "/bin/echo", argv: ["again"] }))).toBe("again\n");
  });

  test("ends with its spawner, which forks no other", async () => {
    spawner.prepare();
    const pid = spawner.spare as number;
    spawner.close();
    await until(() => !alive(pid));
    spawner.prepare();
    expect(spawner.spare).toBeUndefined();
  });

  test("a call that runs when its spawner is closed goes on", async () => {
    spawner.prepare();
    const running = outputOf(program({ exec: "/bin/sh", argv: ["-c", "sleep 0.2; echo done"] }));
    spawner.close();
    expect(await running).toBe("done\n");
  });

  test("the script is one group, read as a whole before anything runs", () => {
    expect(scriptOf({ exec: "/t", argv: ["it's"], env: { A: "1" }, cwd: "/c" }, ["PATH", "A"])).toBe(
      "{\ncd -- '/c' || exit 126\nunset PATH PWD OLDPWD\nexport A='1'\nexec '/t' 'it'\\''s' 3<&-\n}\n",
    );
  });

  test("no descriptor of it reaches the program", async () => {
    spawner.prepare();
    const fds = await outputOf(program({ exec: "/bin/ls", argv: ["/proc/self/fd"] }));
    expect(fds.trim().split(/\s+/)).toEqual(["0", "1", "2", "3"]); // 3 is the folder that ls reads
  });
});
