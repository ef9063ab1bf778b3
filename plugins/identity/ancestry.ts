/** Processes and their ancestors, as /proc tells them. */
import { readFileSync } from "node:fs";

export interface Process {
  readonly pid: number;
  /** 0: it has none that we can see. */
  readonly parent: number;
  readonly noNewPrivs: boolean;
  /** It has ended, and nobody has asked for its status yet. */
  readonly zombie: boolean;
}

/** Undefined: there is no such process. */
export function processOf(pid: number | "self"): Process | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    return undefined;
  }
  // The name comes first and holds no newline: no line can be forged.
  const line = (name: string) => new RegExp(`^${name}:\\t(.*)`, "m").exec(text)?.[1] ?? "";
  return {
    pid: Number(line("Pid")),
    parent: Number(line("PPid")),
    noNewPrivs: line("NoNewPrivs") === "1",
    zombie: line("State").startsWith("Z"),
  };
}

/**
 * A process, its parent, and so on up to the first that has none. Undefined: one of them is gone. Two walks that agree are
 * needed, or a pid that was given anew between two looks could lead into another family.
 */
export function lineOf(pid: number): number[] | undefined {
  let last: string | undefined;
  for (let walk = 0; walk < 6; walk++) {
    const line = walkUp(pid);
    if (!line) return undefined;
    if (line.join() === last) return line;
    last = line.join();
  }
  return undefined;
}

function walkUp(pid: number): number[] | undefined {
  const line: number[] = [];
  for (let at = pid; at > 0; ) {
    const found = processOf(at);
    if (!found || line.length > 4096) return undefined;
    line.push(at);
    at = found.parent;
  }
  return line;
}
