/** A client connected to a small server; all of them end with their test. */
import { afterEach, expect } from "vitest";
import { type Client, connect } from "../../../core/ninep/client.ts";
import { type Tiny, tiny } from "./tiny.ts";

/** What a test leaves open. */
export const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanups.splice(0).reverse()) await undo();
});

export async function both(override?: Parameters<typeof tiny>[0]): Promise<{ server: Tiny; client: Client }> {
  const server = await tiny(override);
  cleanups.push(() => server.close());
  const client = await connect(server.addr, { uname: "glenda" });
  cleanups.push(() => client.close());
  return { server, client };
}

/** What `promise` rejects with. */
export const reasonOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail("resolved"),
    (e) => e as Error,
  );
