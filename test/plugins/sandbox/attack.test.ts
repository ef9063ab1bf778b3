/**
 * What tools of the built daemon try to get out of the sandbox, as real processes inside of it: by each provider, as root and as a normal user.
 * What is not stopped is written down here as such, and in docs/security.md. Says who ran, and what could not.
 */
import { spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "#core";
import { bundle } from "../toolsrv/bundle.ts";
import { type Ground, groundFor } from "../toolsrv/ground.ts";
import { here } from "./gate.ts";

const nobody = 65534;
const root = process.getuid?.() === 0;
const users = root ? [0, nobody] : [process.getuid?.() ?? -1];
// All of them run the same programs; without ground for a normal user those of root are left.
const forOther = groundFor(users.at(-1) ?? -1);
const ground = typeof forOther === "object" ? forOther : (groundFor(users[0] ?? -1) as Ground);
const can = (uid: number) => typeof forOther === "object" || uid === 0;
const providers = ["landlock", "bwrap"] as const;

let driver: string;
let dir: string;
beforeAll(async () => {
  driver = await bundle("test/plugins/sandbox/attack-driver.ts", ground.root);
  dir = realpathSync(mkdtempSync(join(ground.tmp, "ollie-a-")));
  chmodSync(dir, 0o711);
  copyFileSync(join(packageRoot(), "test/plugins/sandbox/attacks.mjs"), join(dir, "attacks.mjs"));
  chmodSync(join(dir, "attacks.mjs"), 0o644);
});
afterAll(() => {
  rmSync(driver, { force: true });
  rmSync(dir, { recursive: true, force: true });
  ground.remove();
});

interface Report {
  uid: number;
  results: Record<string, string>;
  status: string;
  /** Names in the config folder. */
  config: string[];
}

async function attack(provider: string, uid: number, profiles: readonly string[]): Promise<Report[]> {
  const tmp = mkdtempSync(join(dir, "u"));
  if (uid !== process.getuid?.()) chownSync(tmp, uid, uid);
  const child = spawn(process.execPath, [driver, provider, join(dir, "attacks.mjs"), ...profiles], {
    ...(uid === process.getuid?.() ? {} : { uid, gid: uid }),
    cwd: ground.root,
    env: { PATH: process.env.PATH, TMPDIR: tmp },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (err += text));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`the attack as user ${uid} by ${provider} ended with ${code}:\n${err}\n${out}`);
  return JSON.parse(out) as Report[];
}

/** Not stopped, and documented as that. */
const open = {
  landlock: ["stat outside", "chmod outside", "write a git hook", "ld.so runs it", "socket in the file system"],
  // Its own /tmp may be written and executed in, and this test lies there: what it writes is nowhere else.
  bwrap: ["ld.so runs it", "execute a file that is only readable", "trust a project"],
};
const network = ["TCP connect", "TCP bind", "TCP listen without bind", "MPTCP connect", "TCP fast open", "UDP"];
const sockets = ["packet socket", "vsock"];

const passed = ({ results }: Report): string[] =>
  Object.entries(results).flatMap(([name, result]) => (result === "allowed" ? [name] : []));

describe.each(users)("as user %d", (uid) => {
  describe.each(providers)("by %s", (provider) => {
    const missing = !here[provider] || !can(uid);
    let none: Report;
    let refused: Report;
    let granted: Report;
    beforeAll(async () => {
      if (missing) return;
      const profiles = [
        'filesystem: { ro: ["{READABLE}"] }\nnetwork: none\n',
        "network: { connect: [1], bind: [1] }\n",
        "network: { connect: [{PORT}], bind: [0] }\n",
      ];
      [none, refused, granted] = (await attack(provider, uid, profiles)) as [Report, Report, Report];
    }, 60_000);

    test.skipIf(missing)("network none: nothing gets out but what is documented", () => {
      const report = none;
      console.info(`attacks: provider ${provider}, user ${report.uid}, ${Object.keys(report.results).length} tried`);
      expect(report.uid).toBe(uid);
      expect(report.status).toMatch(new RegExp(`^sandbox=on\nprovider=${provider}$`, "m"));
      expect(Object.keys(report.results).length).toBeGreaterThan(60);
      expect(passed(report).filter((name) => !open[provider].includes(name))).toEqual([]);
      expect(report.config).toEqual(["agents", "env", "sandbox", "sandbox/default.yaml", "tools"]);
      for (const name of [...network, ...sockets]) expect([name, report.results[name]]).toEqual([name, "EAFNOSUPPORT"]);
      expect(report.results).toMatchObject({ io_uring: "ENOSYS", descriptors: [], capabilities: "none" });
    });

    test.skipIf(missing)("ports: those that are granted, by TCP, and UDP", () => {
      expect(refused.results).toMatchObject({
        ...{ "TCP connect": "EACCES", "TCP bind": "EACCES", "MPTCP connect": "EPROTONOSUPPORT" },
        ...{ "TCP fast open": "ENOTSUP", UDP: "allowed", vsock: "EAFNOSUPPORT" },
      });
      expect(granted.results).toMatchObject({ "TCP connect": "allowed", "TCP bind": "allowed" });
    });
  });
});

test("who did not run is said", () => {
  const absent = [
    ...providers.filter((provider) => !here[provider]).map((provider) => `by ${provider}`),
    ...(root ? [] : ["as root (this is a normal user)"]),
    ...(typeof forOther === "string" ? [`as a normal user (${forOther})`] : []),
  ];
  if (absent.length > 0) console.warn(`attacks: not run ${absent.join(", ")}`);
  expect(users.length).toBeGreaterThan(0);
});
