// Runs the built daemon and the built client once, in folders that are gone afterwards, and keeps what V8 has compiled by
// then: see load.cjs. The client ends its process, so that is another run of this file, with the daemon's address.
import { execFile } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "./setup.mjs";

const load = createRequire(import.meta.url)(join(root, "dist/load.cjs"));
const [addr] = process.argv.slice(2);
if (addr === undefined) await daemon();
else client(addr);

async function daemon() {
  const home = mkdtempSync(join(tmpdir(), "ollie-code-"));
  for (const name of Object.keys(process.env)) if (name.startsWith("OLLIE_")) delete process.env[name];
  Object.assign(process.env, { HOME: home, NAMESPACE: join(home, "ns"), OLLIE_BACKEND: "script" });
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
    keep();
    // The other run is started by this one: at the socket for people it would be refused.
    const own = join(home, "own");
    await kernel.listen({ unix: own }, { principal: { name: "build", groups: [], kind: "user" } });
    await promisify(execFile)(process.execPath, [import.meta.filename, own]);
  } finally {
    await kernel.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function client(addr) {
  process.argv.splice(2, 1, "-a", addr, "read", "help");
  process.on("exit", keep);
  load("bin/client");
}

function keep() {
  for (const { filename, mark, script } of load.bundles.values()) {
    const aside = `${filename}.code.${process.pid}`;
    writeFileSync(aside, Buffer.concat([Buffer.from(mark), script.createCachedData()]));
    renameSync(aside, `${filename}.code`);
  }
}
