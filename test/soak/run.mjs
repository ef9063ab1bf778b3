// npm run soak [-- --write] [--seed N] [--kills N] [--turns N]: see main.ts.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, root, run } from "../../data/scripts/setup.mjs";

await run(async () => {
  ensureBuilt();
  const { build } = await import("esbuild");
  const dir = join(root, "node_modules/.cache/ollie-test");
  const outfile = join(dir, `soak-${process.pid}.mjs`);
  mkdirSync(dir, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: ["test/soak/main.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["source"],
    packages: "external",
    logLevel: "error",
  });
  const child = spawn(process.execPath, [outfile, ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
  process.exitCode = await new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  rmSync(outfile);
});
