// What an agent has read: a file per path that holds the hash of the content seen. A write of a whole file is refused
// where the agent has not seen what it would replace.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const hash = (data) => createHash("sha256").update(data).digest("hex");

/** Undefined without a session (a tool that is tried by hand): then nothing is kept, and nothing refused. */
function markerOf(path) {
  const dir = process.env.OLLIE_TMPDIR;
  if (!dir) return undefined;
  const agent = (process.env.OLLIE_AGENT_ID ?? "").replace(/[^0-9A-Za-z-]/g, "") || "agent";
  return { dir: join(dir, ".read", agent), file: join(dir, ".read", agent, hash(path)) };
}

/** Notes that the agent knows this content. */
export function markSeen(path, bytes) {
  const marker = markerOf(path);
  if (!marker) return;
  mkdirSync(marker.dir, { recursive: true, mode: 0o700 });
  writeFileSync(marker.file, hash(bytes), { mode: 0o600 });
}

/** `never`, `changed` (read, but it was another content) or `current`. */
export function seen(path, bytes) {
  const marker = markerOf(path);
  if (!marker) return "current";
  try {
    return readFileSync(marker.file, "utf8") === hash(bytes) ? "current" : "changed";
  } catch {
    return "never";
  }
}
