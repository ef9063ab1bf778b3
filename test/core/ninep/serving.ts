/** A kernel with the test tree on a Unix socket; everything ends with its test. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKernel, type ListenOptions, type Use } from "#core";
import { judge, type Strings, testTree } from "../../kit/tree.ts";
import { type Raw, raw } from "./raw.ts";

export interface Serving {
  path: string;
  strings: Strings;
  /** A connection that has attached. */
  dial(uname?: string): Promise<Raw>;
}

export async function serving(...plugins: Use[]): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), "9p-"));
  const { strings, plugin } = testTree();
  const kernel = createKernel({ plugins: [plugin, ...plugins], user: "glenda" });
  const open = new Set<Raw>();
  onTestFinished(async () => {
    for (const one of open) one.duplex.destroy();
    await kernel.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await kernel.start();
  const path = join(folder, "s");
  await kernel.listen({ unix: path }, { judge: judge(strings) } as ListenOptions);
  return {
    path,
    strings,
    async dial(uname) {
      const one = raw(connect(path));
      open.add(one);
      await one.hello(uname);
      return one;
    },
  };
}

/** Lets what is under way arrive. */
export async function settle(turns = 20): Promise<void> {
  for (let n = 0; n < turns; n++) await new Promise((done) => setImmediate(done));
}
