import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packageRoot, type Regular, readRegular } from "#core";
import { profileStore, type Rules, resolveRules, widerThan } from "#plugins/sandbox";
import { trustFiles } from "../../../core/config/trust.ts";
import { mergeProfiles, parseProfile } from "../../../plugins/sandbox/profile.ts";

let base: string;
let env: NodeJS.ProcessEnv;
const at = (...names: string[]) => join(base, ...names);
const make = (...names: string[]) => {
  mkdirSync(at(...names), { recursive: true });
  return at(...names);
};

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ollie-profile-")));
  env = { HOME: make("home"), OLLIE_CFG_PATH: make("cfg"), OLLIE_DATA_PATH: make("data") };
  for (const dir of ["work", "tmp", "cfg/sandbox"]) make(dir);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const context = () => ({ cwd: at("work"), tmp: at("tmp"), toolDirs: [at("cfg/tools")], env });
const parse = (yaml: string) => parseProfile(yaml, "p.yaml");
const rules = async (yaml: string): Promise<Rules> => resolveRules("p", await parse(yaml), context());
const fault = (yaml: string) =>
  rules(yaml).then(
    () => undefined,
    (error: Error) => error.message,
  );
const modes = ({ grants }: Rules) => Object.fromEntries(grants.map(({ path, mode }) => [path, mode]));

describe("a profile", () => {
  test("that is empty grants nothing", async () => {
    expect(await rules("")).toEqual({
      ...{ profile: "p", unconfined: false, bestEffort: false, grants: [], network: "none" },
      ...{ unix: [], links: [], landrun: { ldd: false, addExec: false }, notes: [], warnings: [] },
    });
  });

  test.each([
    ["filesystem: { rwz: [] }", 'filesystem has an unknown key "rwz" (keys: ro rox rw rwx unix)'],
    [
      "cwd: /x",
      'the file has an unknown key "cwd" (keys: general filesystem network env ssh_agent unconfined advanced)',
    ],
    ["filesystem: { ro: /usr }", "filesystem.ro must be a list of texts"],
    ["network: some", 'network must be "none", "unrestricted", or connect and bind with ports'],
    ["network: { connect: [70000] }", "network.connect must be a list of ports"],
    ["unconfined: 1", "unconfined must be true or false"],
    ["env: [A*]", 'env: "A*" is not the name of a variable (exact names, no patterns)'],
    ["a: [", "broken YAML"],
  ])("%s is refused with the file and what is wrong", async (yaml, text) => {
    expect(await fault(yaml)).toContain(`sandbox profile p.yaml: ${text}`);
  });

  test("network in both forms", async () => {
    const network = async (yaml: string) => (await parse(`network: ${yaml}`)).network;
    expect(await network("none")).toBe("none");
    expect(await network("{ connect: [443, 80], bind: [8080] }")).toEqual({ connect: [80, 443], bind: [8080] });
    expect(await network('{ enabled: true, bind_tcp: ["8080"], connect_tcp: ["443"] }')).toEqual({
      connect: [443],
      bind: [8080],
    });
    expect(await network("{ enabled: true, unrestricted: true, connect_tcp: [1] }")).toBe("unrestricted");
    expect(await network("{ enabled: false, connect_tcp: [1] }")).toBe("none");
  });

  test("merged: the more permissive of each path, all variables; what is said replaces what was said", async () => {
    const merged = mergeProfiles(
      await parse("filesystem: { ro: [/a, /b], rox: [/c] }\nenv: [A]\nnetwork: unrestricted\n"),
      await parse("filesystem: { rw: [/a], ro: [/c], rwx: [/d] }\nenv: [B]\nnetwork: none\n"),
    );
    expect(Object.fromEntries(merged.paths)).toEqual({ "/a": "rw", "/b": "ro", "/c": "rox", "/d": "rwx" });
    expect([merged.env, merged.network]).toEqual([["A", "B"], "none"]);
  });
});

describe("paths", () => {
  test("placeholders, links, patterns, and what is not there", async () => {
    make("work/one");
    make("work/two");
    make("real");
    symlinkSync(at("real"), at("home/link"));
    writeFileSync(at("home/file"), "");
    env.OWN = at("real");
    const found = await rules(
      `filesystem: { ro: ["{HOME}/link", "{NONE}", "~/none", "~/file/none"], rox: ["{OWN}"], rw: ["{CWD}/*o*"], rwx: ["{TMPDIR}"] }`,
    );
    expect(modes(found)).toEqual({
      [at("real")]: "rox",
      [at("work/one")]: "rw",
      [at("work/two")]: "rw",
      [at("tmp")]: "rwx",
    });
    expect(found.notes).toEqual(["not there: {NONE}, ~/none, ~/file/none"]);
    expect(found.links).toEqual([{ path: at("home/link"), target: at("real") }]);
  });

  test.each([
    ["{CWD}/*.none", "matches nothing"],
    ["/usr/**", "only * and ? inside of one name are understood"],
    ["/usr/[ab]", "only * and ? inside of one name are understood"],
    ["usr/lib", "is not an absolute path"],
  ])("%s is an error, not passed over", async (path, text) => {
    expect(await fault(`filesystem: { ro: ["${path}"] }`)).toContain(text);
  });

  test("a worktree's folders, where they name it in turn", async () => {
    const git = (cwd: string, ...args: string[]) =>
      spawnSync("git", ["-c", "user.name=n", "-c", "user.email=a@b", ...args], { cwd });
    make("repo");
    git(at("repo"), "init", "-q");
    git(at("repo"), "commit", "-q", "--allow-empty", "-m", "x");
    git(at("repo"), "worktree", "add", "-q", at("tree"));
    const granted = async (cwd: string) =>
      resolveRules("p", await parse('filesystem: { rw: ["{GITDIR}"] }'), { ...context(), cwd }).grants.map(
        (g) => g.path,
      );
    expect(await granted(at("tree"))).toEqual([at("repo/.git"), at("repo/.git/worktrees/tree")]);
    expect(await granted(at("repo"))).toEqual([]);
    make("home/.ssh");
    writeFileSync(at("work/.git"), `gitdir: ${at("home/.ssh")}\n`);
    expect(await granted(at("work"))).toEqual([]);
    writeFileSync(at("work/.git"), `gitdir: ${at("repo/.git/worktrees/tree")}\n`);
    expect(await granted(at("work"))).toEqual([]);
    // A link to the file of another worktree, which names that in turn.
    rmSync(at("work/.git"));
    symlinkSync(at("tree/.git"), at("work/.git"));
    expect(await granted(at("work"))).toEqual([]);
  });

  test.each([
    ["worktree", { commondir: "../..", gitdir: ".git" }],
    ["submodule", { "../../config": "[core]\n\tworktree = worktrees/mine\n" }],
  ])("a tool's own files do not make a %s of the folder around", async (_what, files) => {
    const cwd = make("project/worktrees/mine");
    writeFileSync(join(cwd, ".git"), "commondir" in files ? "gitdir: .\n" : "gitdir: ../..\n");
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), `${text}\n`);
    const granted = async () =>
      modes(resolveRules("p", await parse('filesystem: { rw: ["{GITDIR}"] }'), { ...context(), cwd }));
    expect(await granted()).toEqual({});
    writeFileSync(at("project/HEAD"), "ref: refs/heads/main\n");
    for (const dir of ["objects", "refs"]) make("project", dir);
    expect(await granted()).toHaveProperty(at("project"), "rw");
  });

  test("a submodule's folder, where it names it in turn", async () => {
    const git = (cwd: string, ...args: string[]) => {
      const given = ["-c", "user.name=n", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
      const { status, stderr } = spawnSync("git", [...given, ...args], { cwd, encoding: "utf8" });
      expect([args, status, stderr]).toEqual([args, 0, expect.anything()]);
    };
    for (const repo of ["part", "whole"]) {
      make(repo);
      git(at(repo), "init", "-q");
      git(at(repo), "commit", "-q", "--allow-empty", "-m", "x");
    }
    git(at("whole"), "submodule", "--quiet", "add", at("part"), "sub");
    const granted = async (cwd: string) =>
      modes(resolveRules("p", await parse('filesystem: { rw: ["{GITDIR}"] }'), { ...context(), cwd }));
    expect(await granted(at("whole/sub"))).toEqual({ [at("whole/.git/modules/sub")]: "rw" });
    git(at("whole/sub"), "worktree", "add", "-q", at("subtree"));
    expect(await granted(at("subtree"))).toEqual({
      [at("whole/.git/modules/sub")]: "rw",
      [at("whole/.git/modules/sub/worktrees/subtree")]: "rw",
    });
    writeFileSync(at("work/.git"), `gitdir: ${at("whole/.git/modules/sub")}\n`);
    expect(await granted(at("work"))).toEqual({});
  });

  test("a link that a tool puts in place of what is granted leads nowhere", async () => {
    for (const dir of ["work/build", "work/.git/objects", "secret", "home/.cache/x", "tmp/agent"]) make(dir);
    const yaml = `filesystem: { rwx: ["{CWD}", "{TMPDIR}", "{HOME}/.cache"], rw: ["{CWD}/build", "{TMPDIR}/agent", "{HOME}/.cache/x"] }`;
    const before = modes(await rules(yaml));
    expect(before).not.toHaveProperty(at("secret"));
    for (const dir of ["work/build", "home/.cache/x", "tmp/agent"]) {
      rmSync(at(dir), { recursive: true });
      symlinkSync(at("secret"), at(dir));
      const after = await rules(yaml);
      expect([dir, modes(after)[at("secret")]]).toEqual([dir, undefined]);
      expect(after.notes.join()).toContain(`is left out: a link that tools can make leads to ${at("secret")}`);
    }
    rmSync(at("work"), { recursive: true });
    symlinkSync(at("secret"), at("work"));
    expect(modes(await rules(yaml))).not.toHaveProperty(at("secret"));
    expect((await rules('filesystem: { ro: ["{CWD}/../secret"] }')).grants.map(({ path }) => path)).toEqual([
      at("secret"),
    ]);
  });
});

describe("what no profile may grant", () => {
  test.each([
    ["writing the config", '{ rw: ["{OLLIE_CFG_PATH}"] }'],
    ["writing below it", '{ rwx: ["{OLLIE_CFG_PATH}/sandbox"] }'],
    ["writing above it", '{ rw: ["{OLLIE_CFG_PATH}/.."] }'],
    ["writing what ollie keeps", '{ rw: ["{OLLIE_DATA_PATH}"] }'],
    ["writing ollie", '{ rw: ["{OLLIE}/data"] }'],
    ["writing everything", '{ rw: ["/"] }'],
  ])("%s", async (_what, filesystem) => {
    expect(await fault(`filesystem: ${filesystem}`)).toMatch(/which no tool may (read|write)$/);
  });

  test.each(["{OLLIE_CFG_PATH}", "{OLLIE_CFG_PATH}/env", "/"])("reading the keys: %s", async (path) => {
    writeFileSync(at("cfg/env"), "K=1\n");
    expect(await fault(`filesystem: { ro: ["${path}"] }`)).toMatch(/which no tool may read$/);
  });

  test("but the memory, and the session's temporary files", async () => {
    make("cfg/memory");
    make("data/tmp/s");
    const yaml = 'filesystem: { rw: ["{OLLIE_CFG_PATH}/memory"], rwx: ["{TMPDIR}"] }';
    const found = resolveRules("p", await parse(yaml), { ...context(), tmp: at("data/tmp/s") });
    expect(modes(found)).toEqual({ [at("cfg/memory")]: "rw", [at("data/tmp/s")]: "rwx" });
  });
});

describe("finding", () => {
  test("the user's file lies over the stock one; a project's counts while it is as it was trusted", async () => {
    const load = (name = "default") => profileStore(env).load(name, at("work"));
    writeFileSync(at("cfg/sandbox/default.yaml"), 'filesystem: { ro: ["/mine"] }\n');
    writeFileSync(at("work/.ollie-sandbox.yaml"), 'filesystem: { rw: ["/theirs"] }\n');
    const before = await load();
    expect(before.profile.paths.get("/mine")).toBe("ro");
    expect(before.profile.paths.get("/usr")).toBe("rox");
    expect(before.profile.paths.has("/theirs")).toBe(false);
    const file = at("work/.ollie-sandbox.yaml");
    const note = `${file} does not count until you trust it: olliesrv trust ${file}`;
    expect(before.notes).toEqual([note]);
    writeFileSync(at("cfg/trusted"), `${at("work")}\n${file}\n`);
    expect((await load()).notes).toEqual([note]);
    trustFiles([readRegular(file) as Regular], env);
    expect((await load()).profile.paths.get("/theirs")).toBe("rw");
    symlinkSync(file, at("home/.ollie-sandbox.yaml"));
    const linked = await profileStore(env).load("default", at("home"));
    expect(linked.profile.paths.has("/theirs")).toBe(false);
    expect(linked.notes).toEqual([`${at("home/.ollie-sandbox.yaml")} is a link to ${file}: it does not count`]);
    writeFileSync(at("work/.ollie-sandbox.yaml"), "unconfined: true\n");
    expect((await load()).profile.unconfined).toBeUndefined();
    await expect(load("nope")).rejects.toThrow('there is no sandbox profile "nope"');
  });

  test.each([
    ["a pipe", (path: string) => spawnSync("mkfifo", [path])],
    ["a device without an end", (path: string) => symlinkSync("/dev/zero", path)],
    ["a folder", (path: string) => mkdirSync(path)],
  ])("%s in place of a file that tools can make holds nothing up", async (_what, plant) => {
    const file = at("work/.ollie-sandbox.yaml");
    plant(file);
    plant(at("work/.git"));
    const { notes, profile } = await profileStore(env).load("default", at("work"));
    expect(notes).toEqual([`${file} is no regular file: it does not count`]);
    expect(modes(resolveRules("default", profile, context()))[at("work")]).toBe("rwx");
  });

  test("every stock profile can be used, and readonly is the narrowest", async () => {
    const names = readdirSync(join(packageRoot(), "data/sandbox")).map((file) => file.replace(".yaml", ""));
    expect(names.sort()).toEqual(["build", "default", "readonly", "remote"]);
    const all = new Map<string, Rules>();
    make("home/.npm");
    for (const name of names) {
      const { profile } = await profileStore(env).load(name, at("work"));
      all.set(name, resolveRules(name, profile, context()));
    }
    const of = (name: string) => all.get(name) as Rules;
    expect(widerThan(of("readonly"), of("default"))).toBeUndefined();
    expect(widerThan(of("default"), of("build"))).toBeUndefined();
    expect(widerThan(of("default"), of("readonly"))).toBe(`it grants rwx on ${at("work")}`);
    expect(widerThan(of("build"), of("default"))).toBe(`it grants rwx on ${at("home/.npm")}`);
    expect([of("default").network, of("readonly").network]).toEqual(["unrestricted", "none"]);
    for (const secret of [".ssh", ".aws", ".netrc", ".config"])
      expect(of("build").grants.some(({ path }) => path.startsWith(at("home", secret)))).toBe(false);
  });
});

test("wider or not: paths below, rights, ports, sockets", async () => {
  make("work/in");
  const is = async (inner: string, outer: string) => widerThan(await rules(inner), await rules(outer));
  const files = (mode: string, path: string) => `filesystem: { ${mode}: ["{CWD}${path}"] }`;
  expect(await is(files("ro", "/in"), files("rw", ""))).toBeUndefined();
  expect(await is(files("rox", "/in"), files("rw", ""))).toMatch(/^it grants rox/);
  expect(await is(files("ro", ""), files("rw", "/in"))).toMatch(/^it grants ro/);
  expect(await is("network: { connect: [80] }", "network: { connect: [80, 443] }")).toBeUndefined();
  expect(await is("network: { connect: [22] }", "network: { connect: [80] }")).toBe("it may connect to port 22");
  expect(await is("network: { bind: [0] }", "network: none")).toBe("it has a network");
  expect(await is("network: unrestricted", "network: { bind: [0] }")).toBe("its network is unrestricted");
  expect(await is("general: { best_effort: true }", "")).toMatch(/goes on where/);
  expect(await is('filesystem: { unix: ["{CWD}/in"] }', "")).toMatch(/^it grants the socket/);
  expect(await is("unconfined: true", "")).toBe("it confines nothing");
  expect(await is("network: unrestricted", "unconfined: true")).toBeUndefined();
});
