// npm run build: dist/ from core/ and plugins/. `--if-stale` does nothing where dist/ is current.
//
// Core and the stock plugins are bundles with facades (bundles.mjs), and the 9P client is one more bundle; the terminal client
// and toolsrv are programs of one file each. Libraries are bundled, because the start of a Node program costs by the module.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  bundleOptions,
  bundles,
  clientOptions,
  clientProgram,
  exportsOf,
  facades,
  libraryOptions,
  loadable,
  programs,
  shared,
} from "./bundles.mjs";
import { install, prune } from "./dist.mjs";
import { lazyLibraries, wrapper } from "./library.mjs";
import { root } from "./setup.mjs";
import { digest, stale, writeStamp } from "./stamp.mjs";

// Libraries in CommonJS ask for Node's own modules by require, which an ES module has not.
const require =
  'import { createRequire as __nodeRequire } from "node:module"; const require = __nodeRequire(import.meta.url);';

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  conditions: ["source"],
  charset: "utf8",
  logLevel: "warning",
  // They find files beside themselves (a transpiler, a native module), so they can not be moved.
  external: ["jiti", "koffi"],
  write: false,
};

const esm = { format: "esm", banner: { js: require } };

function program(outfile, source) {
  return { ...esm, entryPoints: [source], plugins: [lazyLibraries], outfile };
}

/**
 * A library as a user's plugin imports it. Nothing is shared with our own copy, which holds only what we use: schemas
 * meet by the Standard Schema interface, not by identity.
 */
function vendor(name) {
  return { ...esm, stdin: { contents: wrapper(name), resolveDir: root }, outfile: `dist/vendor/${name}.js` };
}

/** For authors of plugins: it uses core and the stock plugins as they do, by their facades. */
function testing() {
  const link = (part) => ({ path: `../${part}.js`, external: true });
  return {
    ...esm,
    entryPoints: ["test/kit/index.ts"],
    plugins: [shared(undefined, link)],
    outfile: "dist/testing/index.js",
  };
}

async function build() {
  const { build: bundle } = await import("esbuild");
  const make = async (options) => (await bundle({ ...common, ...options })).outputFiles;
  const all = async (list) => (await Promise.all(list.map(make))).flat();
  const libraries = new Set();
  const exported = await exportsOf(bundle, common);
  const bundled = await all([...bundles.map((one) => bundleOptions(one, exported, libraries)), clientOptions]);
  const files = [
    ...(await all([...libraries].map(libraryOptions))),
    { path: join(root, "dist/load.cjs"), contents: readFileSync(join(root, "data/scripts/load.cjs")) },
    ...bundled.map(loadable),
    ...(await all([
      vendor("zod"),
      vendor("tapable"),
      testing(),
      clientProgram,
      program("dist/toolsrv.js", "plugins/toolsrv/server/entry.ts"),
      program("dist/o.js", "plugins/o/main.ts"),
    ])),
    ...facades(exported).filter(({ path }) => !path.endsWith("/olliesrv.js")),
    ...programs(),
  ];
  install(files);
  keepCode();
  prune(files.flatMap(({ path }) => [path, `${path}.code`]));
}

/** Without it the daemon works all the same, and starts slower. */
function keepCode() {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "data/scripts/code.mjs")], { encoding: "utf8" });
  if (status !== 0) process.stderr.write(`ollie: the compiled code is not kept\n${stderr}`);
}

if (!process.argv.includes("--if-stale") || stale(root)) {
  const stamp = digest(root);
  try {
    await build();
    writeStamp(root, stamp);
  } catch (error) {
    // esbuild has printed what is wrong with the sources.
    if (error.errors === undefined) throw error;
    process.exitCode = 1;
  }
}
