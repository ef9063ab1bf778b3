/** The command line of `o start`. */
import { parseArgs } from "node:util";

export interface StartOptions {
  help: boolean;
  /** A daemon that is started has no sandbox; tools may run without one, the question is answered. */
  unsandboxed: boolean;
  backend: string | undefined;
  model: string | undefined;
  agent: string | undefined;
  /** An existing session to go on with. */
  session: string | undefined;
  /** What to answer once; undefined: a conversation, or what comes through a pipe. */
  question: string | undefined;
}

/** Throws Error with one sentence for an unknown option. Words that are no options are the question. */
export function startOptions(argv: readonly string[]): StartOptions {
  const { values, positionals } = parsed(argv);
  const question = positionals.join(" ").trim();
  return {
    help: values.help,
    unsandboxed: values.unsandboxed,
    backend: values.backend,
    model: values.model,
    agent: values.agent,
    session: values.session,
    question: positionals.length === 0 ? undefined : question,
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h", default: false },
        unsandboxed: { type: "boolean", default: false },
        backend: { type: "string" },
        model: { type: "string" },
        agent: { type: "string" },
        session: { type: "string" },
      },
    });
  } catch (error) {
    // Of Node's text the first sentence says what is wrong.
    throw new Error(`${(error as Error).message.split(". ")[0]} (see npm start -- --help)`, { cause: error });
  }
}

export const usage = `usage: npm start [-- [options] [question]]

Without a question: a conversation with an agent in this folder. With one, or with text on standard input, it answers once:
the answer alone on standard output, exit status 1 where there was none.

  --unsandboxed     tools run with your rights, without a sandbox: where this starts the daemon, and without asking
  --backend NAME    model provider (default: the one that the file backends marks)
  --model NAME      model of that provider
  --agent NAME      agent config: default, coding, or one of your own
  --session NAME    go on with a session that exists
  -h, --help        this text

  npm start
  npm start -- "what is this project about?"
  git diff | npm start -- "review this change"
`;
