// What every tool script needs: its arguments, and one way to fail.
import { readFileSync } from "node:fs";

/** The arguments: one JSON object on stdin. */
export function readArgs() {
  let value;
  try {
    value = JSON.parse(readFileSync(0, "utf8"));
  } catch (error) {
    fail(`arguments must be a JSON object on stdin: ${error.message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    fail("arguments must be a JSON object on stdin");
  return value;
}

/** Ends the tool with one sentence and status 1. */
export function fail(message) {
  process.stdout.write(`${message}\n`);
  process.exit(1);
}
