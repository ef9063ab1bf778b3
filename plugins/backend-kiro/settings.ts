/** Whose account, and where: read anew for each request. */
import { existsSync } from "node:fs";
import { databasePath } from "./database.ts";

export type Source =
  /** A bearer. */
  | { token: string; from: string }
  /** A SQLite file of kiro-cli. */
  | { file: string; from: string };

/** Names of environment variables that hold a token. */
export const tokenNames = ["OLLIE_KIRO_TOKEN"] as const;

export function sourceOf(env: NodeJS.ProcessEnv): Source | { missing: string } {
  const given = env.OLLIE_KIRO_TOKEN?.trim() ?? "";
  if (given.startsWith("sqlite://")) return { file: given.slice("sqlite://".length), from: "OLLIE_KIRO_TOKEN" };
  if (given !== "") return { token: given, from: "OLLIE_KIRO_TOKEN" };
  const file = databasePath(env);
  if (existsSync(file)) return { file, from: file };
  return { missing: "no login of kiro-cli, and OLLIE_KIRO_TOKEN is not set" };
}
