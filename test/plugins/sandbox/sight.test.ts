import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRegular } from "../../../core/config/regular.ts";
import { trustFiles } from "../../../core/config/trust.ts";
import { sight } from "../../../plugins/sandbox/sight.ts";
import { type Isolation, isolation } from "../../../plugins/toolsrv/isolation.ts";

let base: string;
let cwd: string;
let here: Isolation;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-sight-")));
  cwd = join(base, "work/project");
  for (const dir of [cwd, join(base, "tmp"), join(base, "cfg/sandbox"), join(base, "lib1")])
    mkdirSync(dir, { recursive: true });
  const profile = `filesystem:\n  rw: ["{CWD}"]\n  ro: [${base}/later, "${base}/lib*", "{GITDIR}"]\n`;
  writeFileSync(join(base, "cfg/sandbox/own.yaml"), profile);
  env = { HOME: join(base, "home"), OLLIE_CFG_PATH: join(base, "cfg"), OLLIE_DATA_PATH: join(base, "data") };
  here = isolation({
    find: async () => ({ provider: "landlock", landlock: 6, why: "a test" }),
    profile: "own",
    env,
    toolDirs: () => [],
  });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const confined = () => here.confine({ cwd, tmp: join(base, "tmp") });
const granted = async () => (await confined()).rules.grants.map(({ path }) => path);

test("a call is confined to what the last one was, as long as nothing that counts has changed", async () => {
  // The profile is new: for so long it might change unseen.
  await sleep(2100);
  const first = await confined();
  writeFileSync(join(cwd, "file"), "written by a tool");
  mkdirSync(join(cwd, "dir"));
  expect(await confined()).toBe(first);
});

const git = (place: string, holds: string) => {
  mkdirSync(dirname(join(base, place)), { recursive: true });
  writeFileSync(join(base, place), holds);
};

test.each<[string, () => void, () => Promise<void>]>([
  [
    "the profile",
    () => writeFileSync(join(base, "cfg/sandbox/own.yaml"), `filesystem:\n  ro: [${base}/lib1]\n`),
    async () => expect(await granted()).toEqual([join(base, "lib1")]),
  ],
  [
    "a path that was not there",
    () => mkdirSync(join(base, "later")),
    async () => expect(await granted()).toContain(join(base, "later")),
  ],
  [
    "what a pattern matches",
    () => mkdirSync(join(base, "lib2")),
    async () => expect(await granted()).toContain(join(base, "lib2")),
  ],
  [
    "the working directory, made anew",
    () => {
      renameSync(cwd, join(base, "moved"));
      mkdirSync(cwd);
    },
    async () => expect(await granted()).toContain(cwd),
  ],
  [
    "the working directory, now a link to another",
    () => {
      renameSync(cwd, join(base, "moved"));
      mkdirSync(join(base, "secret"));
      symlinkSync(join(base, "secret"), cwd);
    },
    async () => expect(await granted()).toEqual([join(base, "lib1")]),
  ],
  [
    "git's folder of a worktree",
    () => {
      for (const part of ["HEAD", "objects/pack", "refs/tags"]) git(`repo/.git/${part}`, "");
      git("repo/.git/worktrees/w/commondir", "../..\n");
      git("repo/.git/worktrees/w/gitdir", `${cwd}/.git\n`);
      git("work/project/.git", `gitdir: ${base}/repo/.git/worktrees/w\n`);
    },
    async () => expect(await granted()).toContain(join(base, "repo/.git")),
  ],
  [
    "a project's own file, now that it is there and trusted",
    () => {
      const file = join(base, "work/.ollie-sandbox.yaml");
      mkdirSync(join(base, "more"));
      writeFileSync(file, `filesystem:\n  ro: [${base}/more]\n`);
      const found = readRegular(file);
      if (found) trustFiles([found], env);
    },
    async () => expect(await granted()).toContain(join(base, "more")),
  ],
])("a change counts at the next call: %s", async (_what, change, expected) => {
  const first = await confined();
  change();
  expect(await confined()).not.toBe(first);
  await expected();
});

test("a project's file that changed since it was trusted counts no longer", async () => {
  const file = join(cwd, ".ollie-sandbox.yaml");
  mkdirSync(join(base, "more"));
  writeFileSync(file, `filesystem:\n  ro: [${base}/more]\n`);
  const found = readRegular(file);
  if (found) trustFiles([found], env);
  expect(await granted()).toContain(join(base, "more"));
  writeFileSync(file, `filesystem:\n  rw: [${base}/more]\n`);
  expect(await granted()).not.toContain(join(base, "more"));
});

test("a folder that was moved, with a link to it left in its place, counts where it is", async () => {
  const [before, after] = [join(base, "deep/one"), join(base, "deep/two")];
  mkdirSync(before, { recursive: true });
  writeFileSync(join(base, "cfg/sandbox/own.yaml"), `filesystem:\n  ro: [${before}]\n`);
  expect(await granted()).toEqual([before]);
  renameSync(before, after);
  symlinkSync(after, before);
  expect(await granted()).toEqual([after]);
});

/** What `sight` is held against: each path by itself. */
const seenOf = (paths: readonly string[]): string =>
  JSON.stringify(
    paths.map((path) => {
      try {
        const { dev, ino } = statSync(path);
        return [dev, ino, realpathSync.native(path)];
      } catch {
        return "";
      }
    }),
  );

/** Small numbers in an order that a seed gives. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * sides);
  };
}

/** Changes a tree at random, and asks a sight of some of it after each change. Resolves with how often that differed. */
async function wander(seed: number, rounds: number, later: number, pause: number): Promise<number> {
  const roll = dice(seed);
  const top = join(base, `tree${seed}`);
  const names = ["a", "a/b", "a/b/c", "d", "d/e", "d/e/f", "g", "g/h"].map((name) => join(top, name));
  const one = () => names[roll(names.length)] as string;
  const make = (path: string) => mkdirSync(path, { recursive: true });
  const remove = (path: string) => rmSync(path, { recursive: true });
  const acts: ((path: string) => void)[] = [
    ...[make, make, remove],
    (path) => writeFileSync(path, "file"),
    (path) => writeFileSync(`${path}.beside`, ""),
    (path) => renameSync(path, one()),
    (path) => symlinkSync(one(), path),
    (path) => {
      remove(path);
      symlinkSync(one(), path);
    },
    (path) => {
      renameSync(path, `${path}2`);
      symlinkSync(`${path}2`, path);
    },
    (path) => utimesSync(path, 1, 1),
  ];
  make(top);
  let paths: string[] = [];
  const look = () => {
    // Not all: what a link leads to may be seen by nothing else.
    paths = names.filter(() => roll(3) === 0);
    const made = sight(() => Date.now() + later);
    for (const path of paths) made.saw(path);
    // The first answer looks at each by itself.
    made.same();
    return made;
  };
  let seen = look();
  let changes = 0;
  for (let round = 0; round < rounds; round++) {
    const before = seenOf(paths);
    await sleep(pause);
    try {
      acts[roll(acts.length)]?.(one());
    } catch {
      // not everything can be done with everything
    }
    const same = seenOf(paths) === before;
    expect({ seed, round, same: seen.same() }).toEqual({ seed, round, same });
    if (same) continue;
    changes++;
    seen = look();
  }
  return changes;
}

test("a link that leads nowhere, put where nothing was, counts when what it leads to comes", () => {
  const seen = sight(() => Date.now() + 60_000);
  const place = join(base, "lib1/link");
  seen.saw(place);
  expect(seen.same()).toBe(true);
  symlinkSync(join(base, "elsewhere"), place);
  expect([seen.same(), seen.same()]).toEqual([true, true]);
  mkdirSync(join(base, "elsewhere"));
  expect(seen.same()).toBe(false);
});

test("a file that was written just now is not believed: in the same tick of the clock it may be once more", () => {
  const file = join(base, "work/.git");
  writeFileSync(file, "gitdir: elsewhere");
  const [early, late] = [sight(), sight(() => Date.now() + 60_000)];
  for (const seen of [early, late]) seen.saw(file, true);
  expect([early.same(), late.same()]).toEqual([false, true]);
});

test("what no folder tells, as a mount, is noticed within a second, also where the clock is set back", () => {
  // A folder that changes without a trace.
  const folder = `/proc/${process.pid}/fd`;
  let later = 60_000;
  for (const moves of [1000, -3_600_000]) {
    const probe = openSync("/dev/null", "r");
    closeSync(probe);
    const seen = sight(() => Date.now() + later);
    seen.saw(join(folder, `${probe}`));
    expect(seen.same()).toBe(true);
    later += moves;
    const fd = openSync("/dev/null", "r");
    expect(fd).toBe(probe);
    expect(seen.same()).toBe(false);
    closeSync(fd);
  }
});

test("a folder far above that was moved, with a link left in its place, leads elsewhere", () => {
  const seen = sight(() => Date.now() + 60_000);
  mkdirSync(join(base, "deep/one/two"), { recursive: true });
  seen.saw(join(base, "deep/one/two"));
  expect(seen.same()).toBe(true);
  renameSync(join(base, "deep"), join(base, "moved"));
  symlinkSync(join(base, "moved"), join(base, "deep"));
  expect(seen.same()).toBe(false);
});

test("what its folders tell is what a look at each place would tell, just after a change", async () => {
  let changes = 0;
  for (let seed = 1; seed <= 20; seed++) changes += await wander(seed, 60, 0, 0);
  expect(changes).toBeGreaterThan(20);
});

test("and long after one, when a folder without a change is believed", async () => {
  // A file system's clock may stand still for some milliseconds.
  const changes = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((seed) => wander(seed, 60, 60_000, 12)));
  expect(changes.reduce((sum, n) => sum + n)).toBeGreaterThan(10);
});
