// Core is one bundle and the stock plugins with the stock config are another, because a start costs by the module. What
// can be imported by name is a part of a bundle: a getter in it, which runs no more than the modules of that part, and a
// facade, which is the file that others import. So tokens, hooks and scopes, which are known by identity, are there once.
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { wrapper } from "./library.mjs";
import { root } from "./setup.mjs";

const require = createRequire(import.meta.url);

const core = {
  name: "core/core",
  parts: ["core/index", "core/tree/index", "core/ninep/client", "core/bin/olliesrv"],
};
const stock = { name: "plugins/stock", parts: ["ollie.config", ...pluginParts()] };

/** Parts without the `.ts` of their source, which are also their paths in dist/. */
export const bundles = [core, stock];

/** The 9P client: nothing is shared with it, since its start is to cost no more than what it does. */
export const client = { name: "bin/client", source: "core/bin/ollie-9p.ts" };

function pluginParts() {
  return readdirSync(join(root, "plugins"))
    .sort()
    .flatMap((plugin) => {
      const files = readdirSync(join(root, "plugins", plugin));
      return ["types", "index"]
        .filter((name) => files.includes(`${name}.ts`))
        .map((name) => `plugins/${plugin}/${name}`);
    });
}

const keyOf = (part) => part.replace(/\W/g, "_");
const bundleOf = (part) => bundles.find(({ parts }) => parts.includes(part));
const upFrom = (path) => "../".repeat(path.split("/").length - 1) || "./";

/** For esbuild: what belongs to another bundle than `own` is taken from there; `link` gives the module that does so. */
export function shared(own, link) {
  return {
    name: "shared parts",
    setup(build) {
      build.onResolve({ filter: /^[.#]|^ollie/ }, async ({ path, pluginData, ...how }) => {
        if (pluginData === shared || how.kind === "entry-point") return undefined;
        const found = await build.resolve(path, { ...how, pluginData: shared });
        const part = relative(root, found.path).replace(/\.ts$/, "");
        const bundle = bundleOf(part);
        return bundle === undefined || bundle === own ? found : link(part, bundle);
      });
      build.onLoad({ filter: /.*/, namespace: "shared" }, ({ pluginData: contents }) => ({ contents }));
    },
  };
}

/** Libraries that are imported lazily are files of their own; `names` gets each. */
function separate(names) {
  return {
    name: "separate libraries",
    setup(build) {
      const here = new Set(build.initialOptions.external);
      build.onResolve({ filter: /^[a-z@]/ }, ({ path, kind }) => {
        if (kind !== "dynamic-import" || path.startsWith("node:") || here.has(path)) return undefined;
        names.add(path);
        return { path: `./${libraryFile(path)}`, external: true };
      });
    },
  };
}

// What Node takes longest to load, and a start has no need of.
const dear = ["node:child_process", "node:crypto", "node:fs/promises", "node:net", "node:worker_threads", "node:zlib"];

/** Modules of Node whose functions and classes load them when they are first used: called, made, or asked what is one of theirs. */
const lazyBuiltins = {
  name: "lazy builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      dear.includes(path) && kind === "import-statement" ? { path, namespace: "lazy builtin" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "lazy builtin" }, ({ path }) => {
      const names = Object.keys(require(path)).filter((name) => typeof require(path)[name] === "function");
      const later = `const later = (name) => new Proxy(function () {}, {
        apply: (_, self, args) => Reflect.apply(require("${path}")[name], self, args),
        construct: (_, args) => new (require("${path}")[name])(...args),
        get: (_, key) => require("${path}")[name][key],
      });`;
      const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ later("${name}");`);
      return { contents: [later, ...lines].join("\n") };
    });
  },
};

const libraryFile = (name) => `vendor/${name.replaceAll("/", "-").replace(/^@|\.js$/g, "")}.cjs`;

/** For esbuild: what load.cjs is to run. */
const kept = {
  format: "cjs",
  // Of code that was kept Node 20 does not know who resolves its imports; there is a require, from load.cjs.
  supported: { "dynamic-import": false },
  // One byte a character: read fast, kept small.
  charset: "ascii",
  minify: true,
};

/**
 * Options for esbuild. `exported`: what the parts export; `libraries` gets the names of what has to be in vendor/.
 * A part of another bundle is an ES module to those that import it, else esbuild copies all that it exports for each of them.
 */
export function bundleOptions(bundle, exported, libraries) {
  const link = (part, { name }) => ({
    path: part,
    namespace: "shared",
    pluginData: exportLines(`__load("${name}").${keyOf(part)}`, exported.get(part)).join("\n"),
  });
  const getters = bundle.parts.map((part) => `get ${keyOf(part)}() { return require("./${part}.ts"); },`);
  return {
    ...kept,
    stdin: { contents: `module.exports = {\n${getters.join("\n")}\n};`, resolveDir: root, sourcefile: bundle.name },
    outfile: `dist/${bundle.name}.cjs`,
    define: { "import.meta.dirname": "__dirname" },
    plugins: [shared(bundle, link), separate(libraries), lazyBuiltins],
  };
}

export const clientOptions = { ...kept, entryPoints: [client.source], outfile: `dist/${client.name}.cjs` };

/** A library that a bundle imports. */
export const libraryOptions = (name) => ({
  format: "cjs",
  stdin: { contents: wrapper(name), resolveDir: root },
  outfile: `dist/${libraryFile(name)}`,
});

/** A bundle as load.cjs wants it: a function, with a digest in front. */
export function loadable({ path, text }) {
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 32);
  return { path, contents: `//${digest}\n(function(exports,require,module,__load,__dirname){${text}\n})\n` };
}

/** What each part exports, by its path; `bundle` is esbuild's build. */
export async function exportsOf(bundle, options) {
  const { metafile } = await bundle({
    ...options,
    format: "esm",
    packages: "external",
    metafile: true,
    outdir: "dist",
    entryPoints: Object.fromEntries(bundles.flatMap(({ parts }) => parts.map((part) => [part, `${part}.ts`]))),
  });
  const parts = bundles.flatMap((one) => one.parts);
  return new Map(parts.map((part) => [part, metafile.outputs[`dist/${part}.js`].exports]));
}

/**
 * A file for each part, with what its source exports. It takes load.cjs as any CommonJS module does: an `import` of it, or of
 * node:module, would have Node make an ES module of that, which costs 3 ms.
 */
export function facades(exported) {
  return bundles.flatMap(({ name, parts }) =>
    parts.map((part) => {
      const lines = [
        `const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);`,
        ...exportLines(`require("${upFrom(part)}load.cjs")("${name}").${keyOf(part)}`, exported.get(part)),
      ];
      return { path: join(root, "dist", `${part}.js`), contents: `${lines.join("\n")}\n` };
    }),
  );
}

function exportLines(part, names) {
  const named = names.filter((name) => name !== "default").join(", ");
  return [
    `const part = ${part};`,
    ...(named === "" ? [] : [`export const { ${named} } = part;`]),
    ...(names.includes("default") ? ["export default part.default;"] : []),
  ];
}

/** What ollie-9p starts with: it has load.cjs in it, because to find and read one more module costs a millisecond. */
export const clientProgram = {
  format: "cjs",
  minify: true,
  stdin: { contents: `require("./load.cjs")("client");`, resolveDir: join(root, "data/scripts") },
  outfile: "dist/bin/ollie-9p.cjs",
};

/** What olliesrv starts with, without ES modules: Node's loader of those costs the start a few milliseconds. */
export function programs() {
  const at = (path, contents) => ({ path: join(root, "dist", path), contents });
  return [
    at("core/bin/package.json", '{ "type": "commonjs" }\n'),
    at(
      "core/bin/olliesrv.js",
      `require("../../load.cjs")("core/core").core_bin_olliesrv.run(process.argv.slice(2));\n`,
    ),
    at("ollie.config.cjs", `module.exports = require("./load.cjs")("plugins/stock").ollie_config;\n`),
  ];
}
