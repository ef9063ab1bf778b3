/** The file `status` of a background process: written by toolsrv, read by the daemon, served to people. */

/** How a background process ended. */
export interface ProcessEnd {
  code: number | null;
  signal: string | null;
  /** `lost`: the tool server ended, and it with it. */
  cause?: "timeout" | "lost";
  /** Name and pid of processes that it left running. */
  left: string[];
}

export interface ProcessState {
  id: string;
  pid: number;
  tool: string;
  /** Undefined: it runs. */
  end: ProcessEnd | undefined;
}

export function printStatus({ id, pid, tool, end }: ProcessState): string {
  const values: [string, string | number][] = [
    ["id", id],
    ["pid", pid],
    ["tool", tool],
    ["state", end ? "ended" : "running"],
  ];
  if (end) {
    if (end.code !== null) values.push(["code", end.code]);
    if (end.signal !== null) values.push(["signal", end.signal]);
    if (end.cause) values.push(["cause", end.cause]);
    if (end.left.length > 0) values.push(["left", end.left.join(", ")]);
  }
  return values.map(([key, value]) => `${key}=${value}\n`).join("");
}

/** The end that a status tells; undefined: it runs. */
export function parseEnd(status: string): ProcessEnd | undefined {
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(status)?.[1];
  if (value("state") !== "ended") return undefined;
  const code = value("code");
  return {
    code: code === undefined ? null : Number(code),
    signal: value("signal") ?? null,
    ...(value("cause") === "timeout" ? { cause: "timeout" } : {}),
    left: value("left")?.split(", ") ?? [],
  };
}

/** As a sentence goes on: `ended with exit status 7`. */
export function endWords({ code, signal, cause, left }: ProcessEnd): string {
  const behind = left.length > 0 ? `, and left running: ${left.join(", ")}` : "";
  if (cause === "lost") return "was ended together with the tool server";
  if (cause === "timeout") return `was ended at its time limit${behind}`;
  return `${signal === null ? `ended with exit status ${code}` : `was killed by ${signal}`}${behind}`;
}
