/** landrun is a program of others: a stand-in on PATH shows what it is given, and then runs the command. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { landrunWords, unconfinedRules } from "#plugins/sandbox";
import { findProvider } from "../../../plugins/toolsrv/provider.ts";
import { type Place, place } from "./runner.ts";

let bin: string;
let p: Place;
const path = process.env.PATH;

const standIn = (script: string) => {
  writeFileSync(join(bin, "landrun"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, "landrun"), 0o755);
};

beforeEach(() => {
  bin = realpathSync(mkdtempSync(join(tmpdir(), "ollie-landrun-")));
  process.env.PATH = `${bin}:${path}`;
  mkdirSync(join(bin, "seen"));
  standIn(`printf '%s\\n' "$@" > ${bin}/seen/args; env > ${bin}/seen/env
while [ "$1" != -- ]; do shift; done; shift; exec "$@"`);
  p = place({ wanted: "landrun" });
});
afterEach(async () => {
  process.env.PATH = path;
  await p.close();
  rmSync(bin, { recursive: true, force: true });
});

test("its words: parents first, ports, names of variables, the command", () => {
  const grant = (path: string, mode: "ro" | "rox" | "rw" | "rwx") => ({ path, mode, id: "" });
  const rules = {
    ...unconfinedRules("p", []),
    grants: [grant("/usr/lib", "rox"), grant("/b", "ro"), grant("/a", "rwx")],
    network: { connect: [443], bind: [8080] },
    bestEffort: true,
    landrun: { ldd: true, addExec: true },
  };
  expect(landrunWords(rules).join(" ")).toBe(
    "landrun --best-effort --ldd --add-exec --rwx /a --ro /b --rox /usr/lib --bind-tcp 8080 --connect-tcp 443 --",
  );
  expect(landrunWords({ ...rules, network: "unrestricted" })).toContain("--unrestricted-network");
  expect(landrunWords({ ...rules, network: "none" }).join(" ")).not.toMatch(/tcp|network/);
});

test("a call runs through it, with its variables named and what steers a loader left out", async () => {
  expect((await p.shell("echo $MINE $LD_PRELOAD", { env: { MINE: "m", LD_PRELOAD: "/x.so" } })).content).toBe("m");
  const args = readFileSync(join(bin, "seen/args"), "utf8");
  expect(args).toContain(`--rwx\n${p.cwd}\n`);
  expect(args).toContain("--unrestricted-network\n");
  expect(args).toMatch(/--env\nMINE\n/);
  expect(args).not.toMatch(/--env\nLD_PRELOAD/);
  expect(readFileSync(join(bin, "seen/env"), "utf8")).not.toMatch(/^LD_PRELOAD=/m);
  expect(await p.runner.sandbox(p.session)).toMatch(
    /^sandbox=on\nprovider=landrun\n(.*\n)*open=system calls are not filtered$/m,
  );
});

test("H-083: taken off PATH or broken, nothing runs", async () => {
  standIn("echo landlock is not supported >&2; exit 1");
  const run = () => p.shell(`touch ${p.outside}/probe`);
  expect((await run()).content).toMatch(/^tools do not run here: .*landrun: landlock is not supported\);/);
  rmSync(join(bin, "landrun"));
  const gone = await findProvider("landrun", { env: { PATH: `.:${bin}` }, native: true });
  expect(gone).toEqual({ provider: undefined, why: "landrun: it is not installed", landlock: 0 });
});

test("what it can not enforce is refused, unless the profile goes on with what there is", async () => {
  p.profile("quiet", "network: none\n");
  p.profile("default", "network: none\n");
  expect((await p.shell("true")).content).toBe(
    "sandbox profile default: landrun can not enforce it (UDP is not confined)",
  );
  p.profile("default", "network: none\ngeneral: { best_effort: true }\n");
  expect((await p.shell("echo ran")).content).toBe("ran\n[sandbox: partial — UDP is not confined]");
});

test("it is the program that was tried, wherever PATH leads by then, and never one that tools may write", async () => {
  expect((await p.shell("echo once")).content).toBe("once");
  const early = join(p.cwd, "bin");
  mkdirSync(early);
  writeFileSync(join(early, "landrun"), `#!/bin/sh\ntouch ${p.outside}/planted\n`, { mode: 0o755 });
  expect((await p.shell("echo again", { env: { PATH: `${early}:${process.env.PATH}` } })).content).toBe("again");
  expect(readdirSync(p.outside)).toEqual(["secret"]);
  await p.runner.close();
  process.env.PATH = `${early}:${path}`;
  const found = await findProvider("landrun", { env: process.env, native: true });
  expect(found.program).toBe(join(early, "landrun"));
  rmSync(join(p.outside, "planted"));
  const { cwd } = p;
  const after = place({ find: async () => found });
  expect((await after.shell("true", { cwd })).content).toBe(
    `sandbox: ${early}/landrun lies where tools may write, so it confines nothing`,
  );
  await after.close();
});
