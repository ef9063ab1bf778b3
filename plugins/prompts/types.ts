/** What others may import of plugin prompts. */
import { token } from "#core";
import type { Command } from "#plugins/identity";

export interface PromptAt {
  cwd: string;
  /** The session's variables. */
  env: Record<string, string>;
  /** PRIME_CWD, PRIME_PLATFORM, PRIME_IS_GIT_REPO, PRIME_DATE: kept per agent, so that a reload renders the same. */
  prime: Record<string, string>;
  signal: AbortSignal;
  /** For whom its commands speak where they use the daemon's tree. Without it they are led to the main socket. */
  by?: Command | undefined;
}

export interface Prompts {
  /** The system prompt. Throws NineError naming the command and its stderr when one fails. */
  render(prompt: string | readonly string[] | undefined, at: PromptAt): Promise<string>;
  /** Template facts for a directory. */
  prime(cwd: string): Record<string, string>;
}

export const Prompts = token<Prompts>("prompts");
