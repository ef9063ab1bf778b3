/** Runs one prompt command. */
import { type ChildProcess, spawn } from "node:child_process";
import { NineError } from "#core";

/** Milliseconds that a prompt command may take. */
export const COMMAND_LIMIT = 30_000;
/** Bytes that it may print. */
const OUTPUT_LIMIT = 1 << 20;
/** Milliseconds that output may still come after the command's end: what it left in the background does not count. */
const DRAIN = 200;

export interface RunAt {
  cwd: string;
  env: Record<string, string>;
  signal: AbortSignal;
  /** Milliseconds. Default COMMAND_LIMIT. */
  limit?: number;
  /** Told its pid in the tick in which it was started. */
  onStart?: (pid: number | undefined) => void;
}

/**
 * Output of `sh -c command`, trailing newlines stripped. Throws NineError with command and stderr where it fails, takes
 * too long or prints too much; throws the signal's reason when that aborts. Nothing of it is left running.
 */
export function run(command: string, { cwd, env, signal, limit = COMMAND_LIMIT, onStart }: RunAt): Promise<string> {
  const failed = (why: string) => new NineError(`prompt command ${JSON.stringify(shorten(command))} ${why}`);
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn("/bin/sh", ["-c", command], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    onStart?.(child.pid);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let size = 0;
    let drain: NodeJS.Timeout | undefined;

    const settle = (end: () => void) => {
      clearTimeout(timer);
      clearTimeout(drain);
      signal.removeEventListener("abort", aborted);
      child.removeAllListeners();
      // a kill that fails late must not surface as an uncaught error
      child.on("error", () => {});
      killGroup(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
      end();
    };
    const fail = (error: unknown) => settle(() => reject(error));
    const aborted = () => fail(signal.reason);
    const timer = setTimeout(() => fail(failed(`took longer than ${limit / 1000} s`)), limit);
    signal.addEventListener("abort", aborted, { once: true });

    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      into.push(chunk);
      if (size > OUTPUT_LIMIT) fail(failed(`printed more than ${OUTPUT_LIMIT} bytes`));
    };
    child.on("error", (error) => fail(failed(`can not be started: ${error.message}`)));
    // without a descriptor that is left there are none
    child.stdout?.on("data", collect(out));
    child.stderr?.on("data", collect(err));

    const ended = (code: number | null, killedBy: NodeJS.Signals | null) => {
      if (code === 0)
        return settle(() =>
          resolve(
            Buffer.concat(out)
              .toString("utf8")
              .replace(/[\r\n]+$/, ""),
          ),
        );
      const said = Buffer.concat(err).toString("utf8").trim();
      fail(
        failed(
          `failed (${code === null ? `killed by ${killedBy}` : `exit ${code}`})${said && `: ${shorten(said, 400)}`}`,
        ),
      );
    };
    child.on("close", ended);
    child.on("exit", (code, by) => {
      drain = setTimeout(() => ended(code, by), DRAIN);
    });
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // the group is empty
  }
}

const shorten = (text: string, max = 80): string => {
  const line = text.replace(/\s+/g, " ");
  return line.length > max ? `${line.slice(0, max)}…` : line;
};
