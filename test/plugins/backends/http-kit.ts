/** What tests of the HTTP client read with. */
import { bodyBytes } from "../../../plugins/backends/types.ts";

/** The whole body as text. */
export async function read(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyBytes(response)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** What it rejects with; undefined where it does not. */
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
