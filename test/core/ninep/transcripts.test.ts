/** Each file of test/transcripts is a conversation over in-memory connections: with the test tree, ram-… with files of bytes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { createKernel, type ListenOptions } from "#core";
import { serve } from "../../../core/ninep/server.ts";
import { ramTree } from "../../kit/ram.ts";
import { runTranscript } from "../../kit/transcript.ts";
import { judge, testTree } from "../../kit/tree.ts";

const folder = join(import.meta.dirname, "../../transcripts");
/** Name, and what the first line says that it shows. */
const all = readdirSync(folder)
  .filter((name) => name.endsWith(".txt"))
  .map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    return { name, text, title: `${name}: ${text.slice(2, text.indexOf("\n"))}` };
  });
const ram = all.filter(({ name }) => name.startsWith("ram-"));
const rest = all.filter((one) => !ram.includes(one));

/** Connections to whatever `accept` is given the other ends of. */
const dialer = (accept: (duplex: Duplex) => void) => () => {
  const [client, server] = duplexPair();
  accept(server);
  return client;
};

describe("transcripts", () => {
  test("there are some of each kind", () => {
    expect(ram.length).toBeGreaterThan(0);
    expect(rest.length).toBeGreaterThan(0);
  });

  test.each(rest)("$title", async ({ text }) => {
    const { strings, plugin } = testTree();
    await using kernel = createKernel({ plugins: [plugin], user: "glenda" });
    await kernel.start();
    const how = { judge: judge(strings) } as ListenOptions;
    await runTranscript(
      text,
      dialer((server) => kernel.serve(server, how)),
      {
        actions: {
          publish: (what = "") => strings.publish(what),
          set: (what = "") => strings.set(what),
          release: () => strings.release(),
          slow: (...words) => expect(strings.slow).toEqual(words),
          aborted: (...words) => expect(strings.aborted.map((one) => one.replaceAll(" ", "-"))).toEqual(words),
        },
      },
    );
  });

  test.each(ram)("$title", async ({ text }) => {
    const tree = ramTree({ a: "0123456789", b: "" });
    const glenda = { name: "glenda", groups: [], kind: "user" } as const;
    const errors: string[] = [];
    const options = { tree: () => tree, attach: () => glenda, onError: (why: string) => void errors.push(why) };
    await runTranscript(
      text,
      dialer((server) => void serve(server, options)),
    );
    expect(errors).toEqual([]);
  });
});
