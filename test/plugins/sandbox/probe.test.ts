import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bwrapProbe, bwrapWords } from "../../../plugins/sandbox/bwrap.ts";
import type { Rules } from "../../../plugins/sandbox/rules.ts";
import { findProvider } from "../../../plugins/toolsrv/provider.ts";

const nothing: Pick<Rules, "grants" | "unix" | "links"> = { grants: [], unix: [], links: [] };

test("H-020: bwrap dies with the tool server's daemon, but a probe ends by itself: killed early it leaves its child", () => {
  const words = bwrapWords(nothing as Rules, { own: [], unshareNetwork: false });
  expect(words).toContain("--die-with-parent");
  expect(bwrapProbe).not.toContain("--die-with-parent");
});

test("where AppArmor keeps bwrap from its namespaces, that is said with what to do, also when something else works", async () => {
  const bin = mkdtempSync(join(tmpdir(), "ollie-probe-"));
  onTestFinished(() => rmSync(bin, { recursive: true }));
  const words = { bwrap: "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", landrun: "exit 0" };
  for (const [name, script] of Object.entries(words))
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const hint =
    "bwrap: bwrap: setting up uid map: Permission denied (AppArmor keeps user namespaces from it: give bwrap a profile, see docs/security.md)";
  const options = { env: { PATH: bin }, native: false, restricted: () => true };
  expect((await findProvider("bwrap", options)).why).toBe(hint);
  expect((await findProvider("bwrap", { ...options, restricted: () => false })).why).not.toContain("AppArmor");
  expect((await findProvider("bwrap", { ...options, env: { PATH: "/none" } })).why).toBe("bwrap: it is not installed");
  expect((await findProvider("auto", options)).why).toBe(
    `the first that works here; ${hint}; landlock: koffi is not there`,
  );
});
