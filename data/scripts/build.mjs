// npm run build: dist/ from core/ and plugins/. `--if-stale` does nothing where dist/ is current.
//
// Core and plugins are one ESM build with splitting: tokens, hooks and scopes are known by identity, so every entry must
// share one copy of them. Libraries are bundled, because the start of a Node program costs by the module. The 9P client,
// the terminal client and toolsrv are programs of their own: one file each.
import { install, prune } from "./dist.mjs";
import { lazyLibraries, wrapper } from "./library.mjs";
import { root } from "./setup.mjs";
import { digest, stale, writeStamp } from "./stamp.mjs";
import { facades, stock, stockPlugins } from "./stock.mjs";

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

function kernelAndPlugins() {
  return {
    ...esm,
    entryPoints: {
      "core/index": "core/index.ts",
      "core/tree/index": "core/tree/index.ts",
      "core/ninep/client": "core/ninep/client.ts",
      "core/bin/olliesrv": "core/bin/olliesrv.ts",
      "testing/index": "test/kit/index.ts",
      [stock]: stock,
    },
    plugins: [stockPlugins, lazyLibraries],
    outdir: "dist",
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
  };
}

function program(outfile, source, format = esm) {
  return { ...format, entryPoints: [source], plugins: [lazyLibraries], outfile };
}

/**
 * A library as a user's plugin imports it. Nothing is shared with our own copy, which holds only what we use: schemas
 * meet by the Standard Schema interface, not by identity.
 */
function vendor(name) {
  return { ...esm, stdin: { contents: wrapper(name), resolveDir: root }, outfile: `dist/vendor/${name}.js` };
}

async function build() {
  const { build: bundle } = await import("esbuild");
  const bundles = [
    kernelAndPlugins(),
    program("dist/bin/ollie-9p.cjs", "core/bin/ollie-9p.ts", { format: "cjs" }),
    program("dist/toolsrv.js", "plugins/toolsrv/server/entry.ts"),
    program("dist/o.js", "plugins/o/main.ts"),
    vendor("zod"),
    vendor("tapable"),
  ];
  const made = await Promise.all(bundles.map((options) => bundle({ ...common, ...options })));
  const files = [...made.flatMap((result) => result.outputFiles), ...(await facades(bundle, common))];
  install(files);
  prune(files);
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
