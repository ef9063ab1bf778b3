// npm pack runs this first (`prepack`): the build, and dist/types with the declarations that `exports` names, for who
// installs the tarball. Within the checkout the condition `source` leads to the sources instead.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureBuilt, Failure, root, run } from "./setup.mjs";

await run(() => {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) ensureBuilt();
  const out = folder === undefined ? join(root, "dist/types") : resolve(folder);
  rmSync(out, { recursive: true, force: true });
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { status } = spawnSync(
    process.execPath,
    [tsc, "-p", join(root, "data/scripts/tsconfig.types.json"), "--outDir", out],
    {
      cwd: root,
      stdio: ["ignore", 2, 2],
    },
  );
  if (status !== 0) throw new Failure("the declarations can not be written, for the reason above");
});
