/** Programs of tests, bundled from their sources as the build does it. */
import { chmodSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { packageRoot } from "#core";

/** Bundles one file of the project; delete the result when done. It lies inside the package, or a copy of it (see ground.ts), so that it finds its tools. */
export async function bundle(file: string, root = packageRoot()): Promise<string> {
  const dir = join(root, "node_modules", ".cache", "ollie-test");
  const outfile = join(dir, `${basename(file, ".ts")}-${process.pid}-${bundles++}.mjs`);
  mkdirSync(dir, { recursive: true });
  await build({
    entryPoints: [join(packageRoot(), file)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["source"],
    external: ["koffi"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  chmodSync(outfile, 0o644);
  return outfile;
}

let bundles = 0;
