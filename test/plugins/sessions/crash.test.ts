/** Real processes, killed at moments that a seed decides. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { must, start, tempDir } from "./kit.ts";

/** The writer as one file that node runs. */
async function writer(): Promise<string> {
  const outfile = join(tempDir(), "writer.mjs");
  await build({
    entryPoints: [join(import.meta.dirname, "writer.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["source"],
    external: ["jiti"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  return outfile;
}

test("H-034: kill -9 at any moment loses no line that was said to be on disk, and leaves no broken file", {
  timeout: 60_000,
}, async () => {
  const program = await writer();
  const dir = tempDir();
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed % below;
  };
  let said = 0;
  for (let round = 0; round < 8; round++) {
    const child = spawn(process.execPath, [program, dir], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let text = "";
    const stopAt = said + 1 + random(40);
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const last = Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));
      if (last >= stopAt) child.kill("SIGKILL");
    });
    await once(child, "close");
    said = Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));
    expect(said).toBeGreaterThanOrEqual(stopAt);

    const rig = await start(dir);
    const session = must(rig.sessions.get("work"));
    rig.sessions.ready(session);
    const notes = must(rig.part.notes.get(session.id));
    expect(notes).toEqual(Array.from({ length: notes.length }, (_, n) => `${n}`));
    expect(notes.length).toBeGreaterThan(said);
    expect(rig.sessions.list()).toHaveLength(1);
    await rig.kernel.close();
  }
});
