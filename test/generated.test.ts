/** Pages that are made from the program say what the program is. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = dirname(import.meta.dirname);

test("docs/namespace.md and docs/hooks.md are current (npm run docs writes them)", () => {
  const home = mkdtempSync(join(tmpdir(), "ollie-g-"));
  try {
    const { status, stderr } = spawnSync(process.execPath, [join(root, "data/scripts/docs.mjs"), "--check"], {
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
      encoding: "utf8",
    });
    expect({ status, stderr: stderr.replace("ollie: building\n", "") }).toEqual({ status: 0, stderr: "" });
  } finally {
    rmSync(home, { recursive: true });
  }
}, 60_000);

test("they speak of files and hooks, and name no folder of this machine", () => {
  const pages = ["docs/namespace.md", "docs/hooks.md"].map((page) => readFileSync(join(root, page), "utf8"));
  expect(pages[0]).toMatch(/\| `\/session\/\{name\}\/agent\/\{aname\}\/prompt` \| 0666 \| /);
  expect(pages[1]).toMatch(/\| `preTool` \| agent \| gate \| `call: CallDraft` \| blocks \| /);
  for (const page of pages) for (const folder of [root, tmpdir(), "/home/"]) expect(page).not.toContain(folder);
});
