/** Each file of test/transcripts is a conversation with the test tree, over an in-memory connection. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { createKernel } from "#core";
import { runTranscript } from "../../kit/transcript.ts";
import { testTree } from "../../kit/tree.ts";

const folder = join(import.meta.dirname, "../../transcripts");
const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));

describe("transcripts", () => {
  test("there are some", () => expect(files.length).toBeGreaterThan(0));
  test.each(files)("%s", async (name) => {
    const { strings, plugin } = testTree();
    await using kernel = createKernel({ plugins: [plugin], user: "glenda" });
    await kernel.start();
    const [client, server] = duplexPair();
    kernel.serve(server);
    const said: string[] = [];
    await runTranscript(readFileSync(join(folder, name), "utf8"), client, {
      publish: (text = "") => strings.publish(text),
      set: (text = "") => strings.set(text),
      release: () => strings.release(),
      slow: (...words) => expect(strings.slow).toEqual(words),
      aborted: (...words) => expect(strings.aborted.map((one) => one.replaceAll(" ", "-"))).toEqual(words),
      say: (text = "") => void said.push(text),
    });
    client.destroy();
  });
});
