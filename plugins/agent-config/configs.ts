/** Finds agent configs in their folders. Nothing is cached: a changed file counts for the next agent. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isTrusted, messageOf, NineError, type Regular, readRegular } from "#core";
import { parseConfig } from "./parse.ts";
import type { AgentConfig, AgentConfigs } from "./types.ts";

/** `dirs` are asked at each call; the first that has a file of the name wins. */
export function agentConfigs(dirs: () => string[]): AgentConfigs {
  const names = (): string[] => {
    const found = dirs().flatMap((dir) => list(dir).filter((file) => file.endsWith(".json") && !file.startsWith(".")));
    return [...new Set(found.map((file) => file.slice(0, -".json".length)))].sort();
  };
  return {
    names,
    load(name) {
      if (!/^[^./\0][^/\0]*$/.test(name)) throw unknown(name, names());
      for (const dir of dirs()) {
        const file = join(dir, `${name}.json`);
        const found = read(name, file);
        if (found)
          return {
            ...parseConfig(name, file, found.bytes.toString("utf8")),
            ...{ real: found.real, trusted: isTrusted(found, process.env) },
          };
      }
      if (name === "default") return empty(name);
      throw unknown(name, names());
    },
  };
}

const unknown = (name: string, known: string[]) =>
  new NineError(`agent ${JSON.stringify(name.slice(0, 64))} is unknown (agents: ${known.join(" ")})`);

const empty = (name: string): AgentConfig => ({ ...parseConfig(name, "", "{}"), file: undefined });

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function read(name: string, file: string): Regular | undefined {
  try {
    return readRegular(file);
  } catch (error) {
    throw new NineError(`agent ${name}: its config can not be read: ${messageOf(error)}`);
  }
}
