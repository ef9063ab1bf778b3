// A command over about 100 KB does not fit in argv: it is put into a file and run from there.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail, readArgs } from "./args.mjs";

const { command } = readArgs();
if (typeof command !== "string") fail("shell: command is missing");
if (command.includes("\0")) fail("shell: command holds a NUL character, which no shell can run");
const dir = mkdtempSync(join(tmpdir(), "shell-"));
const file = join(dir, "command");
writeFileSync(file, command, { mode: 0o600 });
const pick = 'if command -v bash >/dev/null 2>&1; then exec bash "$0"; fi; exec sh "$0"';
const { status, signal } = spawnSync("/bin/sh", ["-c", pick, file], { stdio: ["ignore", "inherit", "inherit"] });
rmSync(dir, { recursive: true, force: true });
if (signal) process.kill(process.pid, signal);
process.exitCode = status ?? 1;
