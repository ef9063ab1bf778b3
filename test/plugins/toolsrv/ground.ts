/**
 * Where other users can run what the tests build: the checkout, where they can reach it, else a copy of what programs need
 * in a folder for temporary files. Tried as that user, since modes alone do not say it (ACLs, mounts, what lies above).
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "#core";
import { build } from "../../dist.ts";

export interface Ground {
  /** The package, or the copy of it, with dist/ as the sources are. */
  root: string;
  /** A folder in which the user can use folders of its own. */
  tmp: string;
  remove(): void;
}

/** What the built programs need: koffi keeps its native part in a package of its own, jiti reads a user's config. */
const needed = ["package.json", "data", "dist", ...["koffi", "@koromix", "jiti"].map((name) => `node_modules/${name}`)];
const bundles = "node_modules/.cache/ollie-test";

/** Ground for `uid`; a string says why there is none. */
export function groundFor(uid: number): Ground | string {
  build();
  if (uid === process.getuid?.()) return { root: packageRoot(), tmp: tmpdir(), remove() {} };
  const node = asUser(uid, "");
  if (node !== "") return `user ${uid} can not run ${process.execPath}: ${node}`;
  const dirs = [...new Set([tmpdir(), "/tmp", "/var/tmp", "/dev/shm"])];
  const tmp = dirs.find((dir) => existsSync(dir) && isUsable(dir, uid));
  if (tmp === undefined) return `user ${uid} can use no folder of its own in any of ${dirs.join(", ")}`;
  mkdirSync(join(packageRoot(), bundles), { recursive: true });
  if (reaches(packageRoot(), uid) === "") return { root: packageRoot(), tmp, remove() {} };
  const root = copy(tmp);
  const remove = () => rmSync(root, { recursive: true, force: true });
  const fault = reaches(root, uid);
  if (fault === "") return { root, tmp, remove };
  remove();
  return `user ${uid} reaches neither ${packageRoot()} nor a copy in ${tmp}: ${fault}`;
}

function copy(tmp: string): string {
  const root = mkdtempSync(join(tmp, "ollie-copy-"));
  for (const path of needed)
    if (existsSync(join(packageRoot(), path))) cpSync(join(packageRoot(), path), join(root, path), { recursive: true });
  mkdirSync(join(root, bundles), { recursive: true });
  spawnSync("chmod", ["-R", "a+rX,go-w", root]);
  return root;
}

function isUsable(dir: string, uid: number): boolean {
  const own = mkdtempSync(join(dir, "ollie-try-"));
  try {
    chmodSync(own, 0o700);
    chownSync(own, uid, uid);
    return asUser(uid, `fs.writeFileSync(${JSON.stringify(join(own, "file"))}, "")`) === "";
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Reads and loads what programs there would; empty where all of it can be. */
function reaches(root: string, uid: number): string {
  const file = JSON.stringify(join(root, "package.json"));
  const koffi = existsSync(join(root, "node_modules/koffi"))
    ? `require("node:module").createRequire(${file})("koffi");`
    : "";
  const dirs = JSON.stringify(["data/tools", "dist/core/bin", bundles].map((dir) => join(root, dir)));
  return asUser(uid, `fs.readFileSync(${file}); ${dirs}.forEach((dir) => fs.readdirSync(dir)); ${koffi}`);
}

/** The error of a script that is run as the user, empty where it ran. */
function asUser(uid: number, script: string): string {
  const all = { uid, gid: uid, cwd: "/", env: { PATH: process.env.PATH }, encoding: "utf8" } as const;
  const { status, stderr, error } = spawnSync(process.execPath, ["-e", script], all);
  if (status === 0) return "";
  return error?.message ?? /^\w*Error: .*$/m.exec(stderr)?.[0] ?? `exit status ${status}`;
}
