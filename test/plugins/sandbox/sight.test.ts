import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRegular } from "../../../core/config/regular.ts";
import { trustFiles } from "../../../core/config/trust.ts";
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
