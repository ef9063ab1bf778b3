// What every tool script needs: its arguments, and one way to fail.
import { readFileSync, writeSync } from "node:fs";

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

/** A required string; it may be empty. */
export function needString(args, name) {
  if (typeof args[name] !== "string") fail(`${name} is missing`);
  return args[name];
}

/** An optional whole number of at least `least`. */
export function optionalCount(args, name, least, otherwise) {
  const value = args[name];
  if (value === undefined || value === null) return otherwise;
  if (!Number.isInteger(value) || value < least) fail(`${name} must be a whole number of at least ${least}`);
  return value;
}

/** Ends the tool with one sentence and status 1. */
export function fail(message) {
  say(`${message}\n`);
  process.exit(1);
}

/** Writes all of `text` before it returns, also to a pipe. */
export function say(text) {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1);
    }
  }
}
