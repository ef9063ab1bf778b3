/** The declarations of the tarball, for somebody's project outside of this tree. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("a project that has installed the package gets its types, by every entry and under both ways to resolve", {
  timeout: 180_000,
}, () => {
  const project = realpathSync(mkdtempSync(join(tmpdir(), "ollie-types-")));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  const node = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
    return { status, said: stdout + stderr };
  };
  const ollie = join(project, "node_modules/ollie");
  mkdirSync(ollie, { recursive: true });
  copyFileSync(join(root, "package.json"), join(ollie, "package.json"));
  expect(node(join(root, "data/scripts/types.mjs"), join(ollie, "dist/types"))).toEqual({ status: 0, said: "" });
  for (const name of ["@types", "zod"])
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  copyFileSync(join(import.meta.dirname, "outside/consumer.ts"), join(project, "consumer.ts"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');

  for (const [module, moduleResolution] of [
    ["esnext", "bundler"],
    ["node16", "node16"],
  ]) {
    const compilerOptions = { module, moduleResolution, target: "es2022", strict: true, noEmit: true, types: ["node"] };
    // skipLibCheck is off: the declarations are checked too.
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    expect(node(join(root, "node_modules/typescript/bin/tsc"), "-p", project), moduleResolution).toEqual({
      status: 0,
      said: "",
    });
  }
});
