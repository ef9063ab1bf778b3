/** The main socket: who is taken for the user, and what a tool tries in vain to be taken for them. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { landlockVersion } from "#plugins/sandbox-landlock";
import {
  type Act,
  type Attempt,
  asEach,
  canRun,
  type Programs,
  people,
  programs,
  type Rig,
  type RigOptions,
  start,
} from "./rig.ts";

const refused = ["no way in: permission denied: this process is sandboxed; use $NAMESPACE"];
const ended = /no way in: permission denied: (the process that connected has ended|this process is sandboxed)/;
const acts: Act[] = [["rdwr", "ctl", "help"]];
const noNewPrivs = ["setpriv", "--no-new-privs"];

let p: Programs;
let rig: Rig;
beforeAll(async () => {
  p = await programs();
  expect(spawnSync("setpriv", ["--no-new-privs", "true"]).status, "setpriv(1) is needed for these tests").toBe(0);
});
afterAll(() => p.remove());

const confined: Partial<RigOptions> = { identity: { acceptNoNewPrivs: true }, env: { OLLIE_ISOLATION: "landlock" } };
const landlock = typeof (await landlockVersion()) === "number";
if (!landlock) process.stdout.write("identity: there is no Landlock here, confined tools are NOT tested\n");

/** What a tool leaves in a file when it has got away from its call. */
async function later(file: string): Promise<string> {
  for (let waited = 0; waited < 6_000; waited += 50) {
    if (existsSync(file) && readFileSync(file, "utf8").endsWith("\n")) return readFileSync(file, "utf8");
    await sleep(50);
  }
  throw new Error(`${file} was not written`);
}

asEach("", (person) => {
  const begin = async (more: Partial<RigOptions> = {}) => {
    rig = await start({ person, programs: p, ...more });
    expect(rig.said).toBe("ready");
  };

  describe("a daemon", () => {
    afterEach(() => rig?.stop());
    test("a confined program of the user's is refused, unless the config accepts it", async () => {
      await begin();
      expect(await rig.user(["read", "agents"], { before: noNewPrivs })).toContain(
        refused[0]?.slice("no way in: ".length),
      );
      await rig.stop();
      await begin({ identity: { acceptNoNewPrivs: true } });
      expect(await rig.user(["read", "agents"], { before: noNewPrivs })).toContain("default");
    });

    test("where the daemon is confined itself, ancestry tells", async () => {
      await begin({ before: noNewPrivs });
      expect(await rig.user(["read", "agents"], { before: noNewPrivs })).toContain("default");
      expect(await rig.attempt("a1", { addr: rig.main, acts })).toEqual(refused);
    });

    test("in bwrap a tool has its agent's socket and no other", async () => {
      if (spawnSync("bwrap", ["--ro-bind", "/", "/", "--unshare-pid", "true"]).status !== 0)
        return void process.stdout.write("identity: bwrap does not work here, tools in it are NOT tested\n");
      await begin({ env: { OLLIE_ISOLATION: "bwrap" } });
      const other = `unix!${await rig.shell("b1", 'echo "$NAMESPACE"')}/ollie`;
      const own: Act[] = [["write", "session/s1/agent/a1/plan", "x"], ["write", "session/s1/env", "A=1"]]; // biome-ignore format: pairs
      expect(await rig.attempt("a1", { acts: own })).toEqual(["ok", "permission denied"]);
      expect((await rig.attempt("a1", { addr: rig.main, acts }))[0]).toMatch(/^no way in: /);
      expect((await rig.attempt("a1", { addr: other, acts: own }))[0]).toMatch(/^no way in: /);
    });

    test("without koffi tools reach the main socket, and their own sockets still pin who they are", async () => {
      await begin({ env: { OLLIE_KOFFI: "off" } });
      expect(await rig.user(["read", "agents"])).toContain("default");
      expect((await rig.attempt("a1", { addr: rig.main, acts }))[0]).toMatch(/^ok /);
      const own: Attempt = { acts: [["write", "session/s1/agent/a1/prompt", "x"]], uname: person.name };
      const [result] = await rig.attempt("a1", own);
      expect(result).toContain("permission denied: the agent itself may not write it");
    });

    test("sockets of a daemon that was killed go with the next start, the others with their daemon", async () => {
      await begin();
      await rig.shell("a1", "true");
      const [old] = rig.sockets();
      await rig.stop("SIGKILL");
      expect(rig.sockets()).toEqual([old]);
      await begin({ dir: rig.dir });
      for (let i = 0; i < 100 && rig.sockets().length > 0; i++) await sleep(50);
      expect(rig.sockets()).toEqual([]);
      await rig.shell("a1", "true");
      const mine = rig.sockets();
      expect(mine).toHaveLength(1);
      rig.process.kill("SIGTERM");
      for (let i = 0; i < 100 && rig.process.exitCode === null; i++) await sleep(50);
      expect(rig.sockets()).toEqual([]);
    });

    test("a folder whose sockets would have too long a path is refused with a sentence", async () => {
      const dir = `/${"d".repeat(90)}`;
      rig = await start({ person, programs: p, identity: { dir } });
      expect(rig.said).toMatch(
        /^olliesrv: \S+: identity: \/d+ is too long for sockets \(100 bytes.*set XDG_RUNTIME_DIR/m,
      );
    });
  });

  // It is the ancestry alone that tells, in both.
  describe.each<[string, Partial<RigOptions>]>([
    ["not confined", {}],
    ...(landlock ? [["confined, and clients that may be", confined] satisfies [string, Partial<RigOptions>]] : []),
  ])("with tools %s", (_what, options) => {
    beforeAll(() => begin(options));
    afterEach(() => {});
    afterAll(() => rig.stop());

    test("a program of the user's is the user", async () => {
      expect(await rig.user(["rdwr", "ctl"], { input: "help" })).toContain("invalidate");
    });

    test.each(["", person.name])("a tool is refused, called %j", async (uname) => {
      expect(await rig.attempt("a1", { addr: rig.main, acts, uname })).toEqual(refused);
    });

    test.each([
      ["in a session of its own, forked twice", (c: string) => `(setsid sh -c 'sleep 0.3; ${inner(c)}' &)`],
      ["with an empty environment", (c: string) => `(setsid env -i sh -c 'sleep 0.3; ${inner(c)}' &)`],
      ["whose parents were killed", (c: string) => `setsid sh -c '(sleep 0.4; ${inner(c)}) & kill -9 $$' &`],
    ])("a process that gets away is refused: %s", async (how, line) => {
      const file = join(rig.work, `${how.replaceAll(/\W/g, "-")}.out`);
      const command = `${rig.command({ addr: rig.main, acts })} > ${file}.tmp; echo >> ${file}.tmp; mv ${file}.tmp ${file}`;
      await rig.shell("a1", line(command));
      expect(JSON.parse(await later(file))).toEqual(refused);
    });

    test("a connection that was passed on is still the tool's, also when the tool has ended", async () => {
      for (const wait of ["", "busy"]) {
        const file = join(rig.work, `passed-${wait}.out`);
        if (wait) await rig.user(["write", "busy"], { input: "1500" });
        if (wait) await sleep(150);
        // The daemon accepts while it is busy only later: by then the process that connected has gone.
        void rig.shell("a1", passOn(rig.main.slice("unix!".length), file)).catch(() => {});
        expect(`no way in: ${(await later(file)).trim()}`).toMatch(ended);
      }
    });
  });
});

test.runIf(canRun(people[1]))("root is taken for the user of a daemon that is not root's", async () => {
  const person = people[1] as (typeof people)[number];
  rig = await start({ person, programs: p });
  try {
    expect(await rig.user(["read", "agents"], { uid: 0 })).toContain("default");
  } finally {
    await rig.stop();
  }
});

/** Quotes of the command stand inside quotes. */
const inner = (command: string) => command.replaceAll("'", `'"'"'`);

/** A program that connects, gives the connection to a child as a descriptor and ends; the child attaches over it. */
function passOn(path: string, file: string): string {
  const child = `
    const net = require("net"), fs = require("fs");
    setTimeout(() => {
      const socket = new net.Socket({ fd: 3 });
      const say = (text) => { fs.writeFileSync(${JSON.stringify(file)}, text + "\\n"); process.exit(0); };
      let got = Buffer.alloc(0), asked = false;
      socket.on("error", (error) => say("permission denied: " + error.code)).on("end", () => say("connection ended"));
      socket.on("data", (bytes) => {
        got = Buffer.concat([got, bytes]);
        if (!asked && got.length >= 19) {
          asked = true;
          got = got.subarray(got.readUInt32LE(0));
          const attach = Buffer.alloc(4 + 1 + 2 + 4 + 4 + 2 + 4 + 2);
          attach.writeUInt32LE(attach.length, 0); attach[4] = 104; attach.writeUInt32LE(1, 7);
          attach.writeUInt32LE(0xffffffff, 11); attach.writeUInt16LE(4, 15); attach.write("root", 17);
          socket.write(attach);
        }
        if (asked && got.length >= 9) say(got[4] === 107 ? got.subarray(9).toString() : "attached");
      });
      socket.write(Buffer.from("130000006400000020000006003950323030 30".replace(" ", ""), "hex"));
    }, 600);`;
  const parent = `
    const net = require("net"), { spawn } = require("child_process");
    const socket = net.connect(${JSON.stringify(path)}, () => {
      spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: ["ignore", "inherit", "inherit", socket], detached: true });
      setTimeout(() => process.exit(0), 100);
    });`;
  return `cat > pass.cjs <<'EOF'\n${parent}\nEOF\n'${process.execPath}' pass.cjs`;
}
