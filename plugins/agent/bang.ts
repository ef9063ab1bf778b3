/** `!command` in a prompt: a shell command of the user's, beside any turn. Its output stands in chat; the model sees none of it. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { messageOf, NineError } from "#core";
import type { CommandSocket } from "#plugins/identity";
import { isCredential } from "#plugins/sessions";
import { cookieVariable, startTime, sweep } from "#plugins/toolsrv";
import { checkCwd } from "./checks.ts";
import { limits } from "./limits.ts";
import { checkDepth } from "./loop.ts";
import { info, type Runtime } from "./runtime.ts";

/** Milliseconds: output is shown so often; so long it is awaited behind the exit. */
const waits = { show: 100, drain: 200 };

/**
 * Resolves when it has started. A stop ends it, and so do the agent's end and its limits. `depth`: of the turn that it
 * hangs on. Throws NineError.
 */
export async function runCommand(rt: Runtime, text: string, depth: number): Promise<void> {
  const command = text.trim();
  if (command === "") return;
  if (rt.closing) throw new NineError("prompt: agent is dead");
  checkDepth("prompt", depth);
  if (rt.commands.size >= limits.commands)
    throw new NineError(`prompt: ${limits.commands} commands run already (ctl stop ends them)`);
  rt.chat.block("user", `!${command}`);
  rt.turn?.reads.drop();
  const stop = new AbortController();
  rt.stoppable.add(stop);
  const over = runOn(rt, command, depth, stop.signal).finally(() => {
    rt.stoppable.delete(stop);
    rt.commands.delete(over);
    rt.turn?.reads.drop();
  });
  rt.commands.add(over);
}

/** With a socket of its own, through which it acts as a hook of the agent's. */
async function runOn(rt: Runtime, command: string, depth: number, signal: AbortSignal): Promise<void> {
  let socket: CommandSocket | undefined;
  try {
    socket = await rt.deps.sockets?.command({ session: rt.session.id, agent: rt.id, depth });
    // a spawn would name /bin/sh as what is missing
    checkCwd("!", rt.cwd);
    if (signal.aborted) info(rt, "stopped");
    else await run(rt, command, signal, socket);
  } catch (error) {
    info(rt, `can not be started: ${messageOf(error)}`);
  } finally {
    await socket?.close();
  }
}

async function run(rt: Runtime, command: string, signal: AbortSignal, socket?: CommandSocket): Promise<void> {
  const cookie = `${process.pid}-${startTime(process.pid)}-${randomUUID()}`;
  const shown = lines((text) => info(rt, text));
  const ending = await new Promise<string>((resolve) => {
    // One pipe, so that both streams stay in order.
    const child = spawn("/bin/sh", ["-c", `exec 2>&1\n${command}`], {
      cwd: rt.cwd,
      env: { ...envOf(rt), ...socket?.env, [cookieVariable]: cookie },
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    socket?.admit(child.pid);
    const late = setTimeout(() => resolve(`took longer than ${limits.command / 1000} s`), limits.command);
    let drain: NodeJS.Timeout | undefined;
    const end = (text: string) => {
      clearTimeout(late);
      clearTimeout(drain);
      resolve(text);
    };
    signal.addEventListener("abort", () => end("stopped"), { once: true });
    const exited = (code: number | null, by: string | null) =>
      end(code === 0 ? "" : code === null ? `killed by ${by}` : `exit status ${code}`);
    child.on("error", (error) => end(`can not be started: ${error.message}`));
    // without a descriptor that is left there is none
    child.stdout?.on("data", shown.push);
    child.on("close", exited);
    // What it left in the background may hold the pipe open for ever.
    child.on("exit", (code, by) => {
      drain = setTimeout(() => exited(code, by), waits.drain);
    });
  });
  await sweep({ cookie });
  shown.end(ending);
}

/** The server's environment and the session's, without what holds a secret. */
function envOf(rt: Runtime): Record<string, string> {
  const { session } = rt;
  const env: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(process.env), ...session.env])
    if (value !== undefined && !isCredential(name)) env[name] = value;
  return {
    ...env,
    PWD: rt.cwd,
    OLLIE_SESSION: session.name,
    OLLIE_SESSION_ID: session.id,
    OLLIE_AGENT: rt.name,
    OLLIE_AGENT_ID: rt.id,
  };
}

/** Shows output in whole lines, now and then, up to its limit. */
function lines(show: (text: string) => void) {
  const decoder = new StringDecoder("utf8");
  let held = "";
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  const flush = (upTo: number) => {
    clearTimeout(timer);
    timer = undefined;
    if (upTo > 0) show(held.slice(0, upTo));
    held = held.slice(upTo);
  };
  return {
    push(chunk: Buffer) {
      const room = limits.commandOutput - size;
      size += chunk.length;
      if (room <= 0) return;
      held += decoder.write(chunk.subarray(0, room));
      timer ??= setTimeout(() => flush(held.lastIndexOf("\n") + 1), waits.show);
    },
    end(ending: string) {
      flush(held.length);
      if (size > limits.commandOutput) show(`(cut: the first ${limits.commandOutput} of ${size} bytes)`);
      if (ending !== "") show(ending);
    },
  };
}
