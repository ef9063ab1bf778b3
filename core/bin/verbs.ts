/** The verbs of `ollie-9p`: each a record that says its usage and does its work. */
import { type Client, DMDIR, ORDWR, OTRUNC, OWRITE, QTDIR, RemoteError } from "../ninep/client.ts";
import { longList, statLine } from "./format.ts";
import { lines, pieces } from "./input.ts";

/** A command line that makes no sense: exit status 2. */
export class UsageError extends Error {}

/** What a verb works with. */
export interface Job {
  client: Client;
  args: string[];
  flags: ReadonlySet<string>;
  /** Values of options like `-m MODE`. */
  values: ReadonlyMap<string, string>;
  /** Standard output; resolves when more may be written. */
  out(data: Uint8Array | string): Promise<void>;
  /** Standard input. */
  input(): AsyncIterable<Buffer>;
  /** Says on standard error what failed for `path`; the exit status becomes 1. */
  failed(path: string, error: unknown): void;
}

export interface Verb {
  /** What follows the verb on the command line. */
  usage: string;
  help: string;
  /** Letters of options without a value. */
  flags?: string;
  /** Letters of options with a value. */
  values?: string;
  /** Fewest and most arguments behind the options. */
  least: number;
  most?: number;
  run(job: Job): Promise<void>;
}

/** Runs `act` for each path; one that fails is reported and the rest go on. */
async function forEach(job: Job, act: (path: string) => Promise<void>): Promise<void> {
  for (const path of job.args) {
    try {
      await act(path);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      job.failed(path, error);
    }
  }
}

/** The data of `write` and `rdwr`: the arguments behind the path, else standard input. */
async function* data({ args, input }: Job): AsyncIterable<Buffer> {
  if (args.length > 1) yield Buffer.from(args.slice(1).join(" "));
  else yield* input();
}

const pathOf = (job: Job): string => job.args[0] as string;

const read: Verb = {
  usage: "PATH…",
  help: "Prints each file to its end, byte for byte. A file that blocks is printed as its data comes, until Ctrl-C.",
  least: 1,
  async run(job) {
    await forEach(job, async (path) => {
      const file = await job.client.open(path);
      try {
        if (file.qid.type & QTDIR) throw new RemoteError("it is a directory (ls lists it)");
        for await (const bytes of file.stream()) await job.out(bytes);
      } finally {
        // Not waited for: it tells a reader nothing, and most often the process ends here.
        file.close().catch(() => {});
      }
    });
  },
};

const write: Verb = {
  usage: "[-l] PATH [DATA…]",
  help: `Writes DATA, or standard input where there is none, and closes the file: what was written has then taken effect.
Several words of DATA are joined by spaces, and nothing is added, not even a newline. Data goes in messages of
the largest size that the server takes, so what fits in one is one message, which files like ctl need.
Data that is empty truncates the file. After Ctrl-C nothing is committed.
  -l  one message for each line, as it comes, its newline included`,
  flags: "l",
  least: 1,
  async run(job) {
    const file = await job.client.open(pathOf(job), OWRITE | OTRUNC);
    const messages = job.flags.has("l") ? lines(data(job)) : pieces(data(job), file.iounit);
    for await (const message of messages) {
      if (message.length > file.iounit)
        throw new RemoteError(`a line has more than the ${file.iounit} bytes of one message`);
      await file.write(message);
    }
    await file.close();
  },
};

const rdwr: Verb = {
  usage: "PATH [DATA…]",
  help: `Writes DATA, or standard input where there is none, and prints the reply from the same open file, as it comes.
Without any data it prints what the file says of its usage.`,
  least: 1,
  async run(job) {
    const file = await job.client.open(pathOf(job), ORDWR);
    for await (const message of pieces(data(job), file.iounit)) await file.write(message);
    for await (const bytes of file.stream()) await job.out(bytes);
    await file.close();
  },
};

const ls: Verb = {
  usage: "[-l] [-d] [PATH…]",
  help: `Lists a directory by name; the root without PATH. With several paths each name has its path before it.
  -l  mode, owner, group, length, time of change, name
  -d  the directory itself, not what is in it`,
  flags: "ld",
  least: 0,
  async run(job) {
    if (job.args.length === 0) job.args = ["/"];
    await forEach(job, async (path) => {
      const self = await job.client.stat(path);
      const inside = (self.mode & DMDIR) !== 0 && !job.flags.has("d");
      const folder = inside && job.args.length > 1 ? `${path.replace(/\/+$/, "")}/` : "";
      const entries = inside
        ? (await job.client.ls(path)).map((stat) => ({ stat, name: folder + stat.name }))
        : [{ stat: self, name: path }];
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      const names = () => entries.map(({ name }) => `${name}\n`).join("");
      await job.out(job.flags.has("l") ? longList(entries, Date.now() / 1000) : names());
    });
  },
};

const stat: Verb = {
  usage: "PATH…",
  help: `Prints one line for each file: 'name' 'owner' 'group' 'last writer' q (path version kind) m mode at atime mt mtime
l length t type d device. Times are seconds since 1970.`,
  least: 1,
  run: (job) => forEach(job, async (path) => job.out(statLine(await job.client.stat(path)))),
};

const rm: Verb = {
  usage: "PATH…",
  help: "Removes each file. Removing the directory of a session or agent ends it.",
  least: 1,
  run: (job) => forEach(job, (path) => job.client.remove(path)),
};

const mv: Verb = {
  usage: "PATH NAME",
  help: "Renames a file within its directory. NAME is the new name, or a path in the same directory.",
  least: 2,
  most: 2,
  async run(job) {
    const [path, to] = job.args.map((arg) => arg.split("/").filter(Boolean)) as [string[], string[]];
    const name = to.pop();
    if (name === undefined || (to.length > 0 && to.join("/") !== path.slice(0, -1).join("/")))
      throw new UsageError("mv renames within one directory: NAME is a name, or a path in the directory of PATH");
    await job.client.wstat(pathOf(job), { name });
  },
};

const create: Verb = {
  usage: "[-d] [-m MODE] PATH…",
  help: `Creates each file, where the server allows it.
  -d       a directory
  -m MODE  permission bits in octal, 666 and for directories 777 by default`,
  flags: "d",
  values: "m",
  least: 1,
  async run(job) {
    const folder = job.flags.has("d");
    const mode = job.values.get("m") ?? (folder ? "777" : "666");
    if (!/^[0-7]{1,4}$/.test(mode)) throw new UsageError(`mode ${JSON.stringify(mode)} is not octal`);
    await forEach(job, async (path) => {
      const file = await job.client.create(path, Number.parseInt(mode, 8) + (folder ? DMDIR : 0));
      await file.close();
    });
  },
};

const wait: Verb = {
  usage: "AGENTDIR [STATE]",
  help: `Waits until the agent is in STATE, idle by default; "calling" stands for any "calling: TOOL".
No state is missed between look and wait: each wait tells the server which state was seen last.`,
  least: 1,
  most: 2,
  async run(job) {
    const [folder, wanted = "idle"] = job.args as [string, string?];
    const reached = (state: string): boolean => state === wanted || state.startsWith(`${wanted}:`);
    const look = job.client.read(`${folder}/state`).catch((error: unknown) => {
      throw error instanceof RemoteError && error.message === "file not found"
        ? new RemoteError("there is no agent (AGENTDIR is session/NAME/agent/NAME)")
        : error;
    });
    let state = (await look).toString().trim();
    if (reached(state)) return;
    const file = await job.client.open(`${folder}/statewait`, ORDWR);
    while (!reached(state)) {
      // What is written is the baseline: the read returns as soon as the state is another.
      await file.write(state, 0);
      state = (await file.read(file.iounit, 0)).toString().trim();
      if (state === "") throw new RemoteError(`the agent ended before it was ${wanted}`);
    }
    await file.close();
  },
};

export const verbs: ReadonlyMap<string, Verb> = new Map(
  Object.entries({ read, write, rdwr, ls, stat, rm, mv, create, wait }),
);
