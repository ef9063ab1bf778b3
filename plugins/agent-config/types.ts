/** What others may import of plugin agent-config. */
import { token } from "#core";
import type { Params } from "#plugins/backends";

/** An agent config file, `{dir}/{name}.json` (facts: agent config JSON). Unknown keys are ignored, and told in `warning`. */
export interface AgentConfig {
  name: string;
  /** Absolute path; undefined for the implicit empty `default`. */
  file: string | undefined;
  /** Where what was read really lies: `file` may be a link, or lead through one. */
  real?: string;
  /** The user trusted this very text at that place. */
  trusted?: boolean;
  /** One string (literal, `!command` or file) or shell commands. */
  prompt: string | string[] | undefined;
  /** False: no tool schemas at all. */
  tools: boolean;
  autoLoad: string[];
  /** Undefined: all; empty: none. */
  allowTools: string[] | undefined;
  /** Wins over allowTools. */
  disallowTools: string[];
  /** Tool rounds per turn; 0: no limit. */
  maxSteps: number;
  backend: string | undefined;
  model: string | undefined;
  params: Params;
  hooks: Record<string, string[]>;
  /** Name of its sandbox profile. Undefined: its creator's, else the usual one. */
  sandbox?: string;
  /** Keys of the file that widen rights, where it has some: hooks, sandbox, bypass. */
  widening?: readonly string[];
  /** One sentence on what of the file has no effect. */
  warning?: string;
}

export interface AgentConfigs {
  names(): string[];
  /** Throws NineError: unknown name (with the known ones), broken JSON, wrong type of a key. */
  load(name: string): AgentConfig;
}

export const AgentConfigs = token<AgentConfigs>("agent-configs");
