// Starts the built daemon once, in folders that are gone afterwards, and keeps what V8 has compiled by then: see load.cjs.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./setup.mjs";

const home = mkdtempSync(join(tmpdir(), "ollie-code-"));
for (const name of Object.keys(process.env)) if (name.startsWith("OLLIE_")) delete process.env[name];
Object.assign(process.env, { HOME: home, NAMESPACE: join(home, "ns"), OLLIE_BACKEND: "script" });

const load = createRequire(import.meta.url)(join(root, "dist/load.cjs"));
const { core_index, core_ninep_client } = load("core/core");
// What a start loads and does not run here: the program, which would own the signals.
load("core/core").core_bin_olliesrv;
const kernel = core_index.createKernel({ plugins: load("plugins/stock").ollie_config.default.plugins });
try {
  await kernel.start();
  const socket = join(home, "socket");
  await kernel.listen({ unix: socket });
  const client = await core_ninep_client.connect(socket);
  await client.read("help");
  await client.ls("session");
  await client.close();
  for (const { filename, mark, script } of load.bundles.values()) {
    const aside = `${filename}.code.${process.pid}`;
    writeFileSync(aside, Buffer.concat([Buffer.from(mark, "latin1"), script.createCachedData()]));
    renameSync(aside, `${filename}.code`);
  }
} finally {
  await kernel.close();
  rmSync(home, { recursive: true, force: true });
}
