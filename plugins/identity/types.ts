/** What others may import of plugin identity: sockets that say who connects. */
import { token } from "#core";

/** UUIDs. */
export interface Speaker {
  readonly session: string;
  readonly agent: string;
}

export interface Command extends Speaker {
  /** Depth of the turn that the command hangs on; 0: a person asked for it. */
  readonly depth: number;
}

type Variables = Readonly<Record<string, string>>;

export interface CommandSocket {
  /** For the command's environment: they lead to the socket. */
  readonly env: Variables;
  /** The process whose descendants may connect, itself included. To be called in the tick in which it was started. */
  admit(pid: number | undefined): void;
  /** The socket is gone, and who is connected is cut off. */
  close(): Promise<void>;
}

export interface Sockets {
  /**
   * Variables that lead an agent's processes to its own socket, which is made when first asked for. Whoever attaches there is
   * that agent. `below` gives pids: descendants of one of them may connect. Rejects with one sentence.
   */
  agent(of: Speaker, below: () => Iterable<number>): Promise<Variables>;
  /** Takes away the socket of an agent, or those of a session. */
  end(session: string, agent?: string): Promise<void>;
  /** A socket for a command of the user's: a prompt command, `!cmd`, a shell hook. Who attaches there is of kind hook. */
  command(from: Command): Promise<CommandSocket>;
}

export const Sockets = token<Sockets>("sockets");
