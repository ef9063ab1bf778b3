/** The prompt line: typed lines go to the agent, what it says streams out. */
import { clearLine, createInterface, cursorTo } from "node:readline";
import type { Client } from "#core/client";
import { commandOf, help } from "./commands.ts";
import { converse } from "./conversation.ts";
import { newlines, pasteInput } from "./paste.ts";
import { renderer } from "./render.ts";
import type { Place } from "./session.ts";
import { styleFor } from "./style.ts";

/** Milliseconds within which a second Ctrl-C leaves. */
const twice = 2000;

/** Talks until the person leaves. Gives whether anything was said. */
export async function repl(client: Client, place: Place): Promise<boolean> {
  const output = process.stdout;
  const style = styleFor(output);
  const terminal = process.stdin.isTTY === true && output.isTTY === true;
  const paste = terminal ? pasteInput(process.stdin, output) : undefined;
  const lines = createInterface({ input: paste?.input ?? process.stdin, output, terminal, prompt: "> " });
  const typed: string[] = [];
  let running = 0;
  let talked = false;
  let prompted = false;
  let closed = false;
  let interrupted = Number.NEGATIVE_INFINITY;

  const write = (text: string): void => {
    if (closed) return;
    if (prompted && terminal) {
      cursorTo(output, 0);
      clearLine(output, 0);
    }
    prompted = false;
    output.write(text);
  };
  const ask = (): void => {
    if (closed || running > 0) return;
    prompted = true;
    lines.prompt(true);
  };
  const tell = (text: string): void => write(`${style.dim(text.trimEnd())}\n`);
  const fail = (error: unknown): void => write(`${style.red(`error: ${(error as Error).message}`)}\n`);
  const typedHere = (text: string): boolean => {
    const at = typed.indexOf(text.trim());
    if (at >= 0) typed.splice(at, 1);
    return at >= 0;
  };
  const render = renderer({ write, style, width: () => output.columns ?? 80, typedHere });

  const talk = await converse(client, place.session, place.path, (event) => {
    render(event);
    if (event.kind === "end" && event.type !== "call") ask();
  });

  const submit = async (text: string): Promise<void> => {
    talked = true;
    typed.push(text.trim());
    running++;
    try {
      await talk.submit(text);
      await talk.idle();
    } catch (error) {
      fail(error);
    } finally {
      running--;
      ask();
    }
  };
  const obey = async (line: string): Promise<void> => {
    try {
      const reply = await talk.ctl(line);
      if (reply !== "") tell(reply);
    } catch (error) {
      fail(error);
    }
    ask();
  };

  let begun = "";
  lines.on("line", (line) => {
    prompted = false;
    if (line.endsWith("\\")) {
      begun += `${newlines(line.slice(0, -1))}\n`;
      return ask();
    }
    const text = begun + newlines(line);
    begun = "";
    const command = commandOf(text);
    if (text.trim() === "") ask();
    else if (command?.kind === "quit") lines.close();
    else if (command?.kind === "help") {
      tell(help);
      ask();
    } else if (command?.kind === "ctl") void obey(command.line);
    else void submit(text);
  });

  const interrupt = (): void => {
    const now = performance.now();
    if (now - interrupted < twice) return lines.close();
    interrupted = now;
    begun = "";
    if (running > 0) talk.ctl("stop").catch(fail);
    else tell("\n(Ctrl-C again or Ctrl-D to leave)");
    ask();
  };
  const leave = (): void => lines.close();
  lines.on("SIGINT", interrupt);
  process.on("SIGINT", interrupt).on("SIGTERM", leave).on("SIGHUP", leave);
  void talk.ended.then((why) => {
    tell(`\n${why}`);
    leave();
  });

  ask();
  await new Promise<void>((resolve) => lines.on("close", resolve));
  closed = true;
  paste?.close();
  process.off("SIGINT", interrupt).off("SIGTERM", leave).off("SIGHUP", leave);
  output.write("\n");
  if (running > 0) await talk.ctl("stop").catch(() => {});
  return talked;
}
