/** One request to a model, without tools and without a history. Its use is counted by the registry that made the backend. */
import { cutText, NineError } from "#core";
import { type Backend, BackendError, type Backends, type Message, type Params } from "#plugins/backends";

export interface Asked {
  backend?: string | undefined;
  model?: string | undefined;
  messages: readonly Message[];
  params: Params;
  signal: AbortSignal;
}

/** The backend that was asked for, else the default one. Throws NineError. */
export const backendFor = (
  { backend, model }: Pick<Asked, "backend" | "model">,
  backends: Backends,
): Promise<Backend> => backends.create({ ...(backend ? { backend } : {}), ...(model ? { model } : {}) });

/** The text as it comes. Throws NineError with the provider's words; also where the reply is empty, or was cut or refused. */
export async function* stream(
  file: string,
  backend: Backend,
  { messages, params, signal }: Omit<Asked, "backend" | "model">,
) {
  let any = false;
  try {
    for await (const event of backend.chatStream(messages, [], params, signal)) {
      if (event.type === "text") {
        any ||= event.text.trim() !== "";
        yield event.text;
      } else if (event.type === "done" && event.stop !== "stop") {
        const why = event.stop === "length" ? "the output limit" : event.raw || event.stop;
        throw new NineError(`${file}: ${backend.name}/${backend.model} stopped before the end: ${why}`);
      }
    }
  } catch (error) {
    if (error instanceof BackendError) throw new NineError(cutText(`${file}: ${error.message}`, 500));
    throw error;
  }
  if (!any) throw new NineError(`${file}: ${backend.name}/${backend.model} gave an empty reply`);
}

/** All of it. */
export async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

/** The inside of the fence, where all of the text is one fenced block. */
export function unfenced(text: string): string {
  const [, inside] = /^\s*```[^\n`]*\n([\s\S]*?)\n?[ \t]*```\s*$/.exec(text) ?? [];
  return inside ?? text;
}
