/** docs/limits.md says the numbers that the program has; docs/errors.md the words that clients get. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Rerror } from "#core";
import { limits } from "../../../core/ninep/limits.ts";
import { limits as agent } from "../../../plugins/agent/limits.ts";
import { MADE, SESSIONS } from "../../../plugins/sessions/sessions.ts";

const page = (name: string) => readFileSync(join(import.meta.dirname, "../../../docs", name), "utf8");

/** Rows `| key | 1,234 | …` below a heading. */
function rows(text: string, heading: string): Record<string, number> {
  const part = text.slice(text.indexOf(`## ${heading}\n`)).split("\n## ")[0] ?? "";
  const found = [...part.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)];
  return Object.fromEntries(found.map(([, key = "", value = ""]) => [key, Number(value.replaceAll(",", ""))]));
}

test("docs/limits.md has every limit of a connection", () => {
  expect(rows(page("limits.md"), "Connections")).toEqual(limits);
});

test("docs/limits.md has the agent's limits that a client meets", () => {
  const said = rows(page("limits.md"), "Agents");
  expect(Object.keys(said).length).toBeGreaterThan(5);
  expect(agent).toMatchObject(said);
  expect(page("limits.md")).toContain(
    `at most ${SESSIONS} sessions; agents below one session that a person made have ${MADE} `,
  );
});

/** Of net/9p/error.c, what is used here; the rest of our texts is said to be unknown to Linux. */
const linux: Record<string, string> = {
  "illegal mode": "EINVAL",
  "illegal name": "ENAMETOOLONG",
  "bad offset in directory read": "ESPIPE",
  "bad use of fid": "EBADF",
  "fid already in use": "EBADF",
  "file already exists": "EEXIST",
  "Is a directory": "EISDIR",
  "not a directory": "ENOTDIR",
  "file not found": "ENOENT",
  "file already open for I/O": "ETXTBSY",
  "permission denied": "EACCES",
  "file has been removed": "EIDRM",
  "fid unknown or out of range": "EBADF",
  "wstat prohibited": "EPERM",
};

test("the usual texts are those that Linux knows, and docs/errors.md lists them", () => {
  const unknown = Object.values(Rerror).filter((text) => !(text in linux));
  expect(unknown.sort()).toEqual(["authentication not required", "duplicate tag", "fid clunked"]);
  const listed = page("errors.md");
  for (const [text, errno] of Object.entries(linux)) expect(listed).toContain(`| \`${text}\` | ${errno} |`);
});
