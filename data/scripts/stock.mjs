// The stock plugins and the stock config are one module, dist/stock.js: the daemon loads nearly all of them, and a start
// costs by the module. Where a plugin is imported by name there is a facade that takes its part out.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.mjs";

export const stock = "stock";

/** [output without .js, source] of what can be imported by name. */
function parts() {
  const all = [["ollie.config", "ollie.config.ts"]];
  for (const plugin of readdirSync(join(root, "plugins")).sort()) {
    const files = readdirSync(join(root, "plugins", plugin));
    for (const name of ["types", "index"]) {
      if (files.includes(`${name}.ts`)) all.push([`plugins/${plugin}/${name}`, `plugins/${plugin}/${name}.ts`]);
    }
  }
  return all;
}

const nameOf = (source) => source.replace(/\W/g, "_");

/** Gives esbuild the module `stock`, which exports each part under a name of its own. */
export const stockPlugins = {
  name: "stock",
  setup(build) {
    build.onResolve({ filter: /^stock$/ }, () => ({ path: stock, namespace: "stock" }));
    build.onLoad({ filter: /.*/, namespace: "stock" }, () => ({
      contents: parts()
        .map(([, source]) => `export * as ${nameOf(source)} from "./${source}";`)
        .join("\n"),
      resolveDir: root,
    }));
  },
};

/** A file for each part, with the names that its source exports. */
export async function facades(bundle, options) {
  const { metafile } = await bundle({
    ...options,
    format: "esm",
    packages: "external",
    metafile: true,
    outdir: "dist",
    entryPoints: Object.fromEntries(parts()),
  });
  return parts().map(([output, source]) => {
    const names = metafile.outputs[`dist/${output}.js`].exports;
    const up = "../".repeat(output.split("/").length - 1) || "./";
    const named = names.filter((name) => name !== "default").join(", ");
    const lines = [
      `import { ${nameOf(source)} as all } from "${up}stock.js";`,
      `export const { ${named} } = all;`,
      ...(names.includes("default") ? ["export default all.default;"] : []),
    ];
    return { path: join(root, "dist", `${output}.js`), contents: `${lines.join("\n")}\n` };
  });
}
