// npm run smoke: what a stranger gets. The packed tarball is installed in an empty folder with an empty home; a program that
// imports it compiles there, its daemon starts and answers one prompt by 9P.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBuilt, Failure, note, root, run } from "../data/scripts/setup.mjs";

const network = /^(https?_proxy|no_proxy|node_extra_ca_certs)$/i;
const npmConfig = (key) => spawnSync("npm", ["config", "get", key], { encoding: "utf8" }).stdout.trim();

await run(() => {
  ensureBuilt();
  const dir = mkdtempSync(join(tmpdir(), "ollie-s-"));
  const [home, work, ns] = ["home", "work", "ns"].map((name) => join(dir, name));
  for (const path of [home, work, ns]) mkdirSync(path, { mode: 0o700 });
  const env = {
    PATH: `${join(work, "node_modules/.bin")}:${process.env.PATH}`,
    HOME: home,
    TMPDIR: dir,
    NAMESPACE: ns,
    OLLIE_BACKEND: "script",
    // Of the caller only what npm has fetched before, and where it fetches: the tarball is on trial here, not the network.
    npm_config_cache: npmConfig("cache"),
    npm_config_registry: npmConfig("registry"),
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => network.test(name))),
    npm_config_prefer_offline: "true",
  };
  const sh = (command, cwd = work, input = "") => {
    note(command);
    const options = { cwd, env, input, encoding: "utf8", timeout: 300_000 };
    const { status, stdout, stderr } = spawnSync("sh", ["-c", command], options);
    if (status !== 0) throw new Failure(`${command}: exit status ${status}\n${stdout}${stderr}`);
    return stdout;
  };
  try {
    sh(`npm pack --silent --pack-destination ${dir}`, root);
    const tarball = readdirSync(dir).find((name) => name.endsWith(".tgz"));
    sh(`npm install --silent --no-audit --no-fund --prefix . ${join(dir, tarball)}`);
    copyFileSync(join(root, "test/types/outside/consumer.ts"), join(work, "consumer.mts"));
    const strict = "--strict --noEmit --target es2022 --types node --typeRoots";
    for (const resolution of ["--module esnext --moduleResolution bundler", "--module node16"])
      sh(
        `node ${join(root, "node_modules/.bin/tsc")} ${strict} ${join(root, "node_modules/@types")} ${resolution} consumer.mts`,
      );
    sh("olliesrv start");
    try {
      sh(`ollie-9p rdwr session/new`, work, `name=smoke\ncwd=${work}\n`);
      const agent = `session/smoke/agent/${sh("ollie-9p read session/idx").split("\t")[5]}`;
      sh(`ollie-9p write ${agent}/prompt`, work, "run: echo smoke $((6 * 7))");
      sh(`ollie-9p wait ${agent}`);
      const log = sh(`ollie-9p read ${agent}/log`);
      if (!/^smoke 42$/m.test(log)) throw new Failure(`the tool's output is not in the log:\n${log}`);
    } finally {
      sh("olliesrv stop");
    }
    note("the tarball installs, its types are there, its daemon starts, a tool ran, an answer came");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
