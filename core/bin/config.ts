/** olliesrv config check|init. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../config/load.ts";
import { configDir, makeDir, packageRoot } from "../config/paths.ts";
import { messageOf, OllieError } from "../errors.ts";
import { createKernel } from "../kernel.ts";
import { orderPlugins } from "../order.ts";
import { KernelView } from "../view.ts";

export async function configCommand(args: string[], asked: string | undefined): Promise<number> {
  const [verb, ...rest] = args;
  if (verb === "check" && rest.length === 0) return check(asked);
  if (verb === "init" && rest.length === 0) return init();
  console.error("usage: olliesrv config check|init [--config FILE]");
  return 2;
}

async function check(asked: string | undefined): Promise<number> {
  const { config, file, why } = await loadConfig(asked, process.cwd(), process.env);
  await using kernel = createKernel({ plugins: config.plugins, dryRun: true });
  const faults: string[] = [];
  try {
    await kernel.start();
    for (const { name, state, error = "" } of kernel.status())
      if (state === "blocked") faults.push(error);
      else if (state === "failed") faults.push(`${name}: ${error}`);
  } catch (error) {
    faults.push(...messageOf(error).split("\n"));
  }
  if (faults.length > 0) throw new OllieError("E_CONFIG", faults.map((fault) => `${file}: ${fault}`).join("\n"));
  const uses = config.plugins.filter((use) => !use.use.off);
  const { order } = orderPlugins(uses, [KernelView]);
  console.log(`${file} (${why}) is good\nplugins, in order: ${order.map((use) => use.def.name).join(" ")}`);
  for (const { name, waiting } of kernel.status())
    for (const path of new Set(waiting)) console.log(`note: nothing serves ${path}: files of ${name} wait`);
  return 0;
}

const head =
  "/** What olliesrv runs with. Swapping a part is swapping its line; `olliesrv config check` tries it. */\n";

function init(): number {
  const folder = configDir();
  const config = join(folder, "ollie.config.ts");
  if (existsSync(config)) throw new OllieError("E_CONFIG", `${config} exists already: it was left alone`);
  makeDir(folder);
  const root = packageRoot();
  // The package's own config is the best example: every plugin stands there on a line of its own.
  const own = readFileSync(join(root, "ollie.config.ts"), "utf8").replace(/^\/\*\*.*\*\/\n/, "");
  writeFileSync(config, `${head}${own}`, { flag: "wx" });
  const paths = {
    ollie: [join(root, "core/index.ts")],
    "ollie/tree": [join(root, "core/tree/index.ts")],
    "ollie/client": [join(root, "core/ninep/client.ts")],
    "ollie/testing": [join(root, "test/kit/index.ts")],
    "ollie/plugins/*": [join(root, "plugins/*/index.ts")],
    "ollie/*": [join(root, "plugins/*/types.ts")],
    zod: [join(root, "node_modules/zod")],
    tapable: [join(root, "node_modules/tapable")],
  };
  // The types are those of the sources, which want to be read as they are in the package.
  const options = {
    target: "ES2023",
    lib: ["ES2023", "ESNext.Disposable"],
    module: "NodeNext",
    moduleResolution: "NodeNext",
    customConditions: ["source"],
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    strict: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  };
  const tsconfig = join(folder, "tsconfig.json");
  const wrote = [config];
  if (!existsSync(tsconfig)) {
    writeFileSync(tsconfig, `${JSON.stringify({ compilerOptions: { ...options, paths } }, undefined, 2)}\n`);
    wrote.push(tsconfig);
  }
  console.log(wrote.map((path) => `wrote ${path}`).join("\n"));
  return 0;
}
