// npm test: check, build and every test, on a machine that has only Node and npm. Arguments go to vitest, and then only
// the tests run: `npm test -- test/core`. Its last line is `N passed, N failed, N skipped`.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkNode, ensureBuilt, ensureInstalled, Failure, note, root, run } from "./setup.mjs";

// What tests see of the caller's environment: no keys, no settings, no home.
const passed = /^(PATH|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|LANG|LC_.*|TZ|CI)$/;

await run(async () => {
  checkNode();
  ensureInstalled();
  const args = process.argv.slice(2);
  const checked = args.length > 0 || (await npmRunCheck());
  ensureBuilt();
  // Socket paths hold 107 bytes, so this one is short even where TMPDIR is not.
  const dir = mkdtempSync(join(process.platform === "linux" ? "/tmp" : tmpdir(), "ollie-t-"));
  try {
    const report = join(dir, "report.json");
    const status = await vitest(args, report, environment(dir));
    const line = summary(report);
    if (!checked) note("npm run check found something, see above");
    if (line === undefined) throw new Failure("vitest gave no results");
    process.stdout.write(`\n${line}\n`);
    process.exitCode = status !== 0 ? status : checked ? 0 : 1;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

async function npmRunCheck() {
  const bin = (name) => join(root, "node_modules/.bin", name);
  // Biome colours its output in a pipe, too.
  const colours = process.stdout.isTTY ? [] : ["--colors=off"];
  const biome = await child(bin("biome"), ["ci", ...colours, "."], process.env);
  const types = await child(bin("tsc"), ["--noEmit"], process.env);
  return biome === 0 && types === 0;
}

function vitest(args, report, env) {
  const options = ["run", "--config", "test/vitest.config.ts", "--reporter=default", "--reporter=json"];
  const cli = join(root, "node_modules/vitest/vitest.mjs");
  return child(process.execPath, [cli, ...options, `--outputFile.json=${report}`, ...args], env);
}

function environment(dir) {
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name)));
  const made = { HOME: join(dir, "home"), TMPDIR: join(dir, "tmp"), NAMESPACE: join(dir, "ns") };
  for (const path of Object.values(made)) mkdirSync(path, { mode: 0o700 });
  return { ...kept, ...made, OLLIE_BACKEND: "script" };
}

/** Counts from vitest's own report; a file that could not be loaded counts as one failure. */
function summary(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return undefined;
  }
  const broken = results.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const failed = results.numFailedTests + broken.length;
  const skipped = results.numPendingTests + results.numTodoTests;
  return `${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped`;
}

function child(command, args, env) {
  return new Promise((resolve, reject) => {
    const running = spawn(command, args, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] });
    running.on("error", reject);
    running.on("close", (code) => resolve(code ?? 1));
  });
}
