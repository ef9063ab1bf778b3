import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Rules, unconfinedRules } from "#plugins/sandbox";
import { type Spawners, spawners } from "../../../plugins/toolsrv/server/spawners.ts";
import { bundle } from "../toolsrv/bundle.ts";
import { means } from "../toolsrv/means.ts";
import { here } from "./gate.ts";
import { grant } from "./grants.ts";

let base: string;
let program: string;
let pool: Spawners;

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-pool-")));
  program = await bundle("test/plugins/sandbox-landlock/entry.ts");
  pool = spawners({ program: pathToFileURL(program), means: await means(), limit: 2 });
});
afterEach(() => {
  pool.close();
  rmSync(base, { recursive: true, force: true });
  rmSync(program, { force: true });
});

function rules(name: string): Rules {
  mkdirSync(join(base, name), { recursive: true });
  const system = ["/usr", "/bin", "/lib", "/lib64"].flatMap((path) => grant(path, "rox"));
  return { ...unconfinedRules(name, []), unconfined: false, grants: [...system, ...grant(join(base, name), "rwx")] };
}

test.skipIf(!here.landlock)("what was given starts a program, also where others took its place at once", async () => {
  const starts = ["a", "b", "c"].map(async (name) => {
    const spawner = await pool.for(rules(name));
    return spawner.start({ exec: "/bin/true", argv: [], env: {}, cwd: "/usr" }).child.pid;
  });
  expect(await Promise.all(starts)).toEqual([1, 2, 3].map(() => expect.any(Number)));
});

test.skipIf(!here.landlock)("one for each set of rules; the longest unused goes where it runs nothing", async () => {
  const a = await pool.for(rules("a"));
  expect(await pool.for(rules("a"))).toBe(a);
  const busy = a.start({ exec: "/bin/sleep", argv: ["60"], env: {}, cwd: join(base, "a"), stdin: "" });
  const b = await pool.for(rules("b"));
  await pool.for(rules("c"));
  expect(await pool.for(rules("a"))).toBe(a);
  expect(await pool.for(rules("b"))).not.toBe(b);
  const other = (await pool.for(rules("b"))).start({
    exec: "/bin/sleep",
    argv: ["60"],
    env: {},
    cwd: "/usr",
    stdin: "",
  });
  await expect(pool.for(rules("c"))).rejects.toThrow("2 sandboxes of this session are in use");
  for (const { child } of [busy, other]) process.kill(child.pid as number, "SIGKILL");
});
