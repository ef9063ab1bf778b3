import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { envFile, parseEnv } from "../../../plugins/backends/envfile.ts";

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

test("lines are KEY=VALUE; comments and blanks are skipped, what is neither is counted", () => {
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
L=
two words=1
export
M`;
  const { values, bad } = parseEnv(text);
  expect(bad).toEqual([5, 6, 17, 18, 19]);
  expect(Object.fromEntries(values)).toEqual({
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

test("lines that have no effect are told by their numbers, never by what stands in them", async () => {
  const folder = await folderWith("A=1\nsk-secret\n");
  const env: NodeJS.ProcessEnv = { OLLIE_CFG_PATH: folder };
  expect(envFile(env)()).toBe(`${folder}/env: line 2 is no NAME=VALUE and has no effect`);
  expect(env.A).toBe("1");
  await writeFile(join(folder, "env"), "A\n\nB\n");
  expect(envFile(env)()).toBe(`${folder}/env: lines 1, 3 are no NAME=VALUE and have no effect`);
});

test("a missing file is fine, one that can not be read is said", async () => {
  const folder = await folderWith();
  expect(envFile({ OLLIE_CFG_PATH: folder })()).toBeUndefined();
  await mkdir(join(folder, "env"));
  expect(envFile({ OLLIE_CFG_PATH: folder })()).toContain(join(folder, "env"));
});
