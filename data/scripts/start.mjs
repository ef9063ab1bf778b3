// npm start: installs and builds what is missing, then hands over to the terminal client in the folder it was called from.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkNode, ensureBuilt, ensureInstalled, Failure, root, run } from "./setup.mjs";

await run(async () => {
  checkNode();
  ensureInstalled();
  ensureBuilt();
  const cwd = process.env.INIT_CWD ?? process.cwd();
  try {
    process.chdir(cwd);
  } catch {
    throw new Failure(`${cwd} is no folder that can be entered`);
  }
  const program = join(root, "dist/o.js");
  process.argv = [process.argv[0], program, "start", ...process.argv.slice(2)];
  await import(pathToFileURL(program).href);
});
