import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeDir } from "#core";

test("a folder and those above it are made, closed to others; one that is there stays", () => {
  const base = mkdtempSync(join(tmpdir(), "ollie-dirs-"));
  try {
    makeDir(join(base, "a/b/c"));
    makeDir(join(base, "a/b/c"));
    for (const one of ["a", "a/b", "a/b/c"]) expect(statSync(join(base, one)).mode & 0o777).toBe(0o700);
  } finally {
    rmSync(base, { recursive: true });
  }
});

test("a path below /proc is an error, not an endless loop", () => {
  expect(() => makeDir("/proc/nothing/here")).toThrow(/ENOENT/);
});
