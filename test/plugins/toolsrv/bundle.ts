/** Programs bundled from the sources, as the build does it. */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { packageRoot } from "#core";

/** Path of the toolsrv program. Delete it when done. */
export const toolsrvEntry = (): Promise<string> => bundle("plugins/toolsrv/server/entry.ts");

/** Bundles one file of the project. The result lies inside the package, so that it finds the package's tools. */
export async function bundle(file: string): Promise<string> {
  const dir = join(packageRoot(), "node_modules", ".cache", "ollie-test");
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
  return outfile;
}

let bundles = 0;
