/** Session files that somebody or something has spoilt: never a crash, never a hang, and the other sessions work. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { seeded } from "../../soak/daemon.ts";
import { start, startAgent } from "../agent/kit.ts";
import { call, calls, say } from "../agent/model.ts";
import { tempDir } from "./kit.ts";

/** A sessions folder with the sessions s1, which has a journal and is to be spoilt, and s2. */
async function saved(): Promise<{ dir: string; id: string; cwd: string }> {
  const rig = await startAgent();
  const { fs, A, cwd, model, idle } = rig;
  await fs.rdwr("/session/new", `name=s2\ncwd=${cwd}`);
  model.replies = [calls(call("look", { n: 1 }, "c1"), call("look", { n: 2 }, "c2")), say("seen")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  await fs.write(`${A}/plan`, "- [ ] one\n");
  await fs.rdwr(`${A}/ctl`, "pause");
  await fs.write(`${A}/prompt`, "waits");
  const id = (await fs.read("/session/s1/id")).trim();
  const dir = tempDir();
  cpSync(rig.dir, dir, { recursive: true, filter: (file) => !file.includes("lock.") });
  await rig.close();
  return { dir, id, cwd };
}

const junk: unknown[] = [null, true, -1, 1e300, "", "x", "../../etc", [], [null], {}, { id: 5 }, [[]], "__proto__"];

/** Puts junk in the place of one node of a JSON value, takes one away, or doubles one: people edit snapshots. */
function spoil(value: unknown, random: (below: number) => number): unknown {
  if (typeof value !== "object" || value === null || random(6) === 0) return junk[random(junk.length)];
  const keys = Object.keys(value);
  const key = keys[random(keys.length)];
  if (key === undefined) return junk[random(junk.length)];
  const way = random(8);
  if (Array.isArray(value)) {
    const at = Number(key);
    if (way === 0) return value.filter((_, n) => n !== at);
    if (way === 1) return [...value, value[at]];
    return value.map((one, n) => (n === at ? spoil(one, random) : one));
  }
  const { [key]: old, ...rest } = value as Record<string, unknown>;
  return way === 0 ? rest : { ...value, [key]: spoil(old, random) };
}

function spoilBytes(bytes: Buffer, random: (below: number) => number): Buffer {
  const at = random(bytes.length);
  const way = random(3);
  if (way === 0) return bytes.subarray(0, at);
  if (way === 1) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(20))]);
  const copy = Buffer.from(bytes);
  copy[at] = random(256);
  return copy;
}

test("spoilt session files never stop the daemon or hurt another session", { timeout: 120_000 }, async () => {
  const origin = await saved();
  const rounds = Number(process.env.FUZZ_ROUNDS ?? 40);
  for (let seed = 1; seed <= rounds; seed++) {
    const random = seeded(seed * 2_654_435_761);
    const dir = tempDir();
    cpSync(origin.dir, dir, { recursive: true });
    const file = join(dir, random(3) === 0 ? `${origin.id}.journal.jsonl` : `${origin.id}.json`);
    const bytes = readFileSync(file);
    if (random(2) === 0 || file.endsWith("l")) writeFileSync(file, spoilBytes(bytes, random));
    else writeFileSync(file, JSON.stringify(spoil(JSON.parse(bytes.toString()), random)));

    const rig = await start({ dir, cwd: origin.cwd });
    const { fs } = rig;
    const looks = async (path: string) => {
      for (const name of await fs.ls(path).catch((): string[] => []))
        if (name !== "new") {
          for (const leaf of ["stats", "cfg", "queue", "plan", "log", "tools", "state", "systemprompt"])
            expect(typeof (await fs.read(`${path}/${name}/${leaf}`)), `seed ${seed}: ${leaf}`).toBe("string");
          // a damaged history is found when it is read: then the session is given up
          const why = await fs.read(`${path}/${name}/context`).then(
            () => undefined,
            (error) => error.message,
          );
          if (why === undefined) continue;
          expect(why, `seed ${seed}`).toMatch(/^session s1 can not be read: /);
          expect(await fs.read("/session/idx"), `seed ${seed}`).toMatch(/^s1\tdamaged\t/m);
          return;
        }
    };
    for (const session of await fs.ls("/session"))
      if (session !== "new" && session !== "idx") await looks(`/session/${session}/agent`);
    expect(await fs.read("/session/idx"), `seed ${seed}`).toMatch(/^s2\tidle\t/m);
    // whatever it holds, what it sends is legal
    const path = `/session/s1/agent/a1`;
    if ((await fs.ls("/session/s1/agent").catch((): string[] => [])).includes("a1")) {
      rig.model.replies = Array.from({ length: 4 }, () => say("well"));
      await fs.rdwr(`${path}/ctl`, "resume");
      await fs.write(`${path}/prompt`, "go on");
      await rig.until(async () => (await fs.read(`${path}/state`)) === "idle\n");
      expect(rig.model.complaints, `seed ${seed}`).toEqual([]);
    }
    await rig.close();
    expect(readdirSync(dir).length, `seed ${seed}`).toBeGreaterThan(1);
  }
});
