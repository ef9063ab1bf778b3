import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { configDir, envFile, parseEnv } from "../../../plugins/backends/envfile.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function folderWith(text?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ollie-env-"));
  folders.push(folder);
  if (text !== undefined) await writeFile(join(folder, "env"), text);
  return folder;
}

test("lines are KEY=VALUE; comments, blanks and lines without = are skipped", () => {
  const text = `\uFEFF# note
A=1
  B =  two words

nonsense
=x
C=a#b
D=a #b
E= # nothing
F=#x
G=a=b=c\r
H="quoted # kept" # dropped
I='single'
J="open
export K=k
L=`;
  expect(Object.fromEntries(parseEnv(text))).toEqual({
    A: "1",
    B: "two words",
    C: "a#b",
    D: "a",
    E: "",
    F: "#x",
    G: "a=b=c",
    H: "quoted # kept",
    I: "single",
    J: '"open',
    K: "k",
    L: "",
  });
});

test("the config directory is OLLIE_CFG_PATH, else below the home directory", () => {
  expect(configDir({ HOME: "/h" })).toBe("/h/.config/ollie");
  expect(configDir({ HOME: "/h", OLLIE_CFG_PATH: "~/x" })).toBe("/h/x");
  expect(configDir({ HOME: "/h", OLLIE_CFG_PATH: "/y" })).toBe("/y");
});

test("a variable that is set is never overridden; an empty one counts as unset", async () => {
  const env: NodeJS.ProcessEnv = { OLLIE_CFG_PATH: await folderWith("A=file\nB=file\nC=file\n"), A: "mine", B: "" };
  expect(envFile(env)()).toBeUndefined();
  expect([env.A, env.B, env.C]).toEqual(["mine", "file", "file"]);
});

test("what came from the file follows it; what was set since does not", async () => {
  const folder = await folderWith("A=1\nB=1\n");
  const env: NodeJS.ProcessEnv = { OLLIE_CFG_PATH: folder };
  const load = envFile(env);
  load();
  env.B = "mine";
  await writeFile(join(folder, "env"), "A=2\nB=2\nC=2\n");
  load();
  expect([env.A, env.B, env.C]).toEqual(["2", "mine", "2"]);
});

test("a missing file is fine, one that can not be read is said", async () => {
  const folder = await folderWith();
  expect(envFile({ OLLIE_CFG_PATH: folder })()).toBeUndefined();
  await mkdir(join(folder, "env"));
  expect(envFile({ OLLIE_CFG_PATH: folder })()).toContain(join(folder, "env"));
});
