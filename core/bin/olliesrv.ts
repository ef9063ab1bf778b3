/** The daemon: olliesrv start|fgstart|stop|status|config|trust|untrust|trusted. */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findConfig, loadConfig } from "../config/load.ts";
import { absolutePaths, dataDir, makeDir } from "../config/paths.ts";
import { messageOf } from "../errors.ts";
import { createKernel, type Kernel } from "../kernel.ts";
import { namespaceDir, parseAddr } from "../ninep/addr.ts";
import type { ListenAt } from "../plugin.ts";
import { configCommand } from "./config.ts";
import { trust, trusted, untrust } from "./trust.ts";

const usage = `usage: olliesrv VERB [--config FILE] [--listen ADDR]
       olliesrv trust|untrust [PATH…] [--yes]

  start         start the daemon in the background; says where it listens
  fgstart       the same in the foreground, log on standard error
  stop          end the running daemon
  status        say whether one runs; exit status 1 when none does
  config check  load and validate the config and build its tree, serve nothing
  config init   write ollie.config.ts and tsconfig.json into the user's config folder
  trust         show files of a project that can widen rights, ask, and let them count as they are now
                (PATH: a file, or a folder for its .ollie* and ollie.config.ts; default: this folder)
  untrust       let them count no longer
  trusted       list what is trusted, and whether it changed

ADDR: unix!/path (default: the socket "ollie" in the name space directory) or tcp!127.0.0.1!port
Environment: NAMESPACE, OLLIE_CONFIG, OLLIE_CFG_PATH, OLLIE_DATA_PATH, OLLIE_BACKEND, OLLIE_MODEL, OLLIE_LOG`;

interface Flags {
  config: string | undefined;
  listen: string | undefined;
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      config: { type: "string" },
      listen: { type: "string" },
      yes: { type: "boolean", short: "y", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  const [verb, ...rest] = positionals;
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const flags: Flags = { config: values.config, listen: values.listen };
  if (rest.length > 0 && ["start", "fgstart", "stop", "status", "trusted"].includes(verb ?? "")) {
    console.error(`olliesrv: ${verb} takes no argument ${JSON.stringify(rest[0])} (see olliesrv --help)`);
    return 2;
  }
  switch (verb) {
    case "start":
      return start(flags);
    case "fgstart":
      return serve(flags);
    case "stop":
      return stop(flags);
    case "status":
      return status(flags);
    case "config":
      return configCommand(rest, flags.config);
    case "trust":
      return trust(rest, values.yes);
    case "untrust":
      return untrust(rest);
    case "trusted":
      return trusted();
    default:
      console.error(verb ? `olliesrv: unknown verb ${JSON.stringify(verb)}\n${usage}` : usage);
      return 2;
  }
}

/** Where this daemon listens or would. */
const addressOf = (flags: Flags): string => flags.listen ?? `unix!${join(namespaceDir(process.env), "ollie")}`;

function listenFrom(address: string): Exclude<ListenAt, { duplex: unknown }> {
  const addr = parseAddr(address);
  return "unix" in addr ? { unix: addr.unix } : { tcp: addr };
}

function answers(address: string): Promise<boolean> {
  const addr = parseAddr(address);
  return new Promise((done) => {
    const socket = "unix" in addr ? connect(addr.unix) : connect(addr.port, addr.host);
    const settle = (is: boolean) => {
      socket.destroy();
      done(is);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

function absoluteAddress(address: string): string {
  const addr = parseAddr(address);
  return "unix" in addr ? `unix!${resolve(addr.unix)}` : address;
}

const logFile = (): string => join(dataDir(), "log", "olliesrv.log");

async function start(flags: Flags): Promise<number> {
  const address = addressOf(flags);
  if (await answers(address)) {
    console.log(`olliesrv already runs at ${address}`);
    return 0;
  }
  const { file: config } = findConfig(flags.config, process.cwd(), process.env);
  makeDir(join(dataDir(), "log"));
  const log = openSync(logFile(), "a", 0o600);
  const from = readFileSync(logFile()).length;
  const forward = ["--config", config, ...(flags.listen ? ["--listen", absoluteAddress(flags.listen)] : [])];
  // It keeps no folder busy, so what is relative is made absolute here.
  const child = spawn(process.execPath, [resolve(process.argv[1] as string), "fgstart", ...forward], {
    cwd: "/",
    env: { ...absolutePaths(process.env, process.cwd()), PWD: "/" },
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  let ended: string | undefined;
  child.once("exit", (code, signal) => {
    ended = signal ? `was killed by ${signal}` : `ended with status ${code}`;
  });
  child.once("error", (error) => {
    ended = error.message;
  });
  for (let waited = 0; waited < 30_000 && ended === undefined; waited += 20) {
    if (await answers(address)) {
      child.unref();
      console.log(`olliesrv runs at ${address} (pid ${child.pid}, log ${logFile()})`);
      return 0;
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  const said = readFileSync(logFile()).subarray(from).toString("utf8").trim().split("\n").slice(-5).join("\n");
  console.error(said || `olliesrv: ${ended ?? "does not answer after 30 seconds"}; its log is ${logFile()}`);
  return 1;
}

async function serve(flags: Flags): Promise<number> {
  const { config, file } = await loadConfig(flags.config, process.cwd(), process.env);
  if (config.log && !process.env.OLLIE_LOG) process.env.OLLIE_LOG = config.log;
  const kernel = createKernel({ plugins: config.plugins });
  let finish: (code: number) => void = () => {};
  const finished = new Promise<number>((resolve) => {
    finish = resolve;
  });
  ownSignals(kernel, finish);
  await kernel.start().catch((error: unknown) => {
    const lines = messageOf(error).split("\n");
    throw new Error(lines.map((line) => `${file}: ${line}`).join("\n"));
  });
  const where = flags.listen ?? config.listen ?? "unix";
  const at = typeof where === "string" ? listenFrom(where === "unix" ? addressOf(flags) : where) : where;
  try {
    const { address } = await kernel.listen(at);
    say(`olliesrv: serving at ${address}, config ${file}`);
  } catch (error) {
    await kernel.close();
    throw error;
  }
  return finished;
}

/** On standard error, without the console: to load that takes longer than it takes a client to come. */
function say(text: string): void {
  try {
    writeSync(2, `${text}\n`);
  } catch {
    // Nobody reads it.
  }
}

/** One owner of signals: the first asks for a clean end, the next one does not wait for it. */
function ownSignals(kernel: Kernel, finish: (code: number) => void): void {
  let ending = false;
  const end = (why: string, code: number) => {
    if (ending) process.exit(code || 1);
    ending = true;
    // Undos have their own limits; this one is for what they do not cover.
    setTimeout(() => process.exit(code || 1), 5_000).unref();
    kernel.close().then(
      () => finish(code),
      (error) => {
        console.error(`olliesrv: ${why}: ${messageOf(error)}`);
        finish(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => end(signal, 0));
  kernel.onStop((reason) => end(reason, 0));
  const late = (error: unknown) => {
    if (kernel.late(error)) return;
    console.error(`olliesrv: ${error instanceof Error ? error.stack : messageOf(error)}`);
    end("an error that belongs to no plugin", 1);
  };
  process.on("uncaughtException", late);
  process.on("unhandledRejection", late);
}

async function stop(flags: Flags): Promise<number> {
  const address = addressOf(flags);
  if (!(await answers(address))) {
    console.log(`olliesrv does not run at ${address}`);
    return 0;
  }
  const { connect: attach } = await import("../ninep/client.ts");
  const client = await attach(address);
  await client.write("ctl", "kill\n").catch((error: unknown) => {
    const text = messageOf(error);
    // A build without the plugin control has no ctl.
    if (/not found/.test(text)) throw new Error(`the daemon at ${address} serves no ctl: end its process`);
    // It may hang up before it answers.
    if (!/connection/i.test(text)) throw error;
  });
  for (let waited = 0; waited < 10_000; waited += 20) {
    if (!(await answers(address))) return 0;
    await new Promise((done) => setTimeout(done, 20));
  }
  console.error(`olliesrv: still running after 10 seconds at ${address}; see ${logFile()}`);
  return 1;
}

async function status(flags: Flags): Promise<number> {
  const address = addressOf(flags);
  const runs = await answers(address);
  console.log(`olliesrv ${runs ? "runs" : "does not run"} at ${address}`);
  return runs ? 0 : 1;
}

/** Runs the program: exits with 0, with 1 for what went wrong, with 2 for a wrong command line. */
export function run(args: string[]): void {
  main(args).then(
    (code) => process.exit(code),
    (error) => {
      const misuse = (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") ?? false;
      // Of Node's text the first sentence says what is wrong.
      const text = misuse ? `${messageOf(error).split(". ")[0]} (see olliesrv --help)` : messageOf(error);
      console.error(`olliesrv: ${text.replaceAll("\n", "\nolliesrv: ")}`);
      process.exit(misuse ? 2 : 1);
    },
  );
}
