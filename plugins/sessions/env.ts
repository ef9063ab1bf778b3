/** A session's variables, as its file `env` shows and takes them. */
import { NineError } from "#core";
import type { Session } from "./types.ts";

const credential = /(_KEY|_TOKEN|_SECRET|PASSWORD|PASSWD|_CREDENTIALS?)$|PASSWORD/i;

/** Whether a variable's name says that it holds a secret: such ones are given to no tool, command or agent, whoever set them. */
export const isCredential = (name: string): boolean => credential.test(name);

/** Checks one variable. Throws NineError. */
export function checkVariable(name: string, value: string, what: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new NineError(`${what}: ${JSON.stringify(name.slice(0, 40))} is no variable name (letters, digits and _)`);
  if (name === "OLLIE_SESSION_ID") throw new NineError(`${what}: OLLIE_SESSION_ID can not be changed`);
  if (value.includes("\0")) throw new NineError(`${what}: the value of ${name} holds a zero byte`);
}

/** What the session's processes see of ollie: its id, the server's OLLIE_* variables, then its own, which win. */
function visible(session: Session, server: NodeJS.ProcessEnv): Map<string, string> {
  const all = new Map([["OLLIE_SESSION_ID", session.id]]);
  for (const [name, value = ""] of Object.entries(server).sort())
    if (name.startsWith("OLLIE_") && name !== "OLLIE_SESSION_ID" && !isCredential(name)) all.set(name, value);
  for (const [name, value] of [...session.env].sort()) all.set(name, value);
  return all;
}

/** NAME=VALUE lines. With `secrets` false, variables that hold a secret are left out. */
export function printEnv(session: Session, options: { secrets: boolean; server?: NodeJS.ProcessEnv }): string {
  return [...visible(session, options.server ?? process.env)]
    .filter(([name]) => options.secrets || !isCredential(name))
    .map(([name, value]) => `${name}=${value.replaceAll("\n", " ")}\n`)
    .join("");
}

/**
 * Merges NAME=VALUE lines: an empty value deletes, blank lines and comments are passed over, and a line that says what
 * is so already changes nothing (the file may be edited and written back). All or nothing: throws NineError.
 */
export function mergeEnv(session: Session, text: string, server: NodeJS.ProcessEnv = process.env): void {
  const now = visible(session, server);
  const changes = new Map<string, string>();
  for (const [at, raw] of text.split("\n").entries()) {
    const line = raw.replace(/\r$/, "");
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const cut = line.indexOf("=");
    if (cut < 0) throw new NineError(`env: line ${at + 1} is not NAME=VALUE`);
    const [name, value] = [line.slice(0, cut).trim(), line.slice(cut + 1)];
    if (now.get(name) === value && !changes.has(name)) continue;
    checkVariable(name, value, `env: line ${at + 1}`);
    changes.set(name, value);
  }
  for (const [name, value] of changes) {
    if (value === "") session.env.delete(name);
    else session.env.set(name, value);
  }
}
