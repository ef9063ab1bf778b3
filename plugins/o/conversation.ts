/** One agent over 9P: prompts go in, the events of its chat come out, and it is known when it is done. */
import { type Client, ORDWR } from "#core/client";
import { type ChatEvent, chatParser } from "./blocks.ts";

export interface Conversation {
  /** Resolves when the agent has it: it runs now, or is queued. */
  submit(text: string): Promise<void>;
  /** Resolves when the agent has nothing left to do and all that it said has been handed to `onEvent`. */
  idle(): Promise<void>;
  /** One command to the agent's ctl; gives the reply. */
  ctl(line: string): Promise<string>;
  /** Why the chat ended: the session was killed, or the daemon went away. Never rejects. */
  readonly ended: Promise<string>;
}

/** Follows the agent at `path` from where its chat ends now. */
export async function converse(
  client: Client,
  session: string,
  path: string,
  onEvent: (event: ChatEvent) => void,
): Promise<Conversation> {
  const chat = await client.open(`${path}/chat.raw`);
  let at = (await chat.stat()).length;
  const waiting: { until: number; resolve(): void }[] = [];
  let over = false;

  const follow = async (): Promise<string> => {
    const decoder = new TextDecoder();
    const parse = chatParser();
    for (;;) {
      const bytes = await chat.read(undefined, at);
      if (bytes.length === 0) return `session ${session} was killed`;
      at += bytes.length;
      for (const event of parse(decoder.decode(bytes, { stream: true }))) onEvent(event);
      for (const { until, resolve } of waiting) if (at >= until) resolve();
    }
  };
  const ended = follow()
    .catch((error: Error) => error.message)
    .finally(() => {
      over = true;
      for (const { resolve } of waiting) resolve();
    });

  const readTo = (until: number): Promise<void> =>
    new Promise((resolve) => {
      if (over || at >= until) resolve();
      else waiting.push({ until, resolve });
    });

  return {
    ended,
    submit: (text) => client.write(`${path}/prompt`, text),
    async idle() {
      const state = await client.open(`${path}/statewait`, ORDWR);
      try {
        // The state is `thinking` before a prompt's write returns, so a turn that is over already differs from it.
        await state.write("thinking");
        while ((await state.read(undefined, 0)).toString().trim() !== "idle");
      } finally {
        await state.close().catch(() => {});
      }
      await readTo((await client.stat(`${path}/chat.raw`)).length);
    },
    ctl: async (line) => (await client.rdwr(`${path}/ctl`, line)).toString().trimEnd(),
  };
}
