// Libraries under their names: what a bundle loses of a CommonJS library is its named exports, which Node finds out at run time.
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "./setup.mjs";

const require = createRequire(join(root, "package.json"));

/** A module that gives all of a library, named exports and the whole as default. */
export function wrapper(name) {
  const names = Object.keys(require(name)).filter((key) => key !== "default" && key !== "__esModule");
  return `import * as all from "${name}"; export const { ${names.join(", ")} } = all; export default all.default ?? all;`;
}

/** For esbuild: `await import("yaml")` gives what it gives outside of a bundle. */
export const lazyLibraries = {
  name: "lazy libraries",
  setup(build) {
    const external = new Set(build.initialOptions.external);
    build.onResolve({ filter: /^[a-z@]/ }, ({ path, kind }) => {
      if (kind !== "dynamic-import" || path.startsWith("node:") || external.has(path)) return undefined;
      return { path, namespace: "lazy" };
    });
    build.onLoad({ filter: /.*/, namespace: "lazy" }, ({ path }) => ({ contents: wrapper(path), resolveDir: root }));
  },
};
