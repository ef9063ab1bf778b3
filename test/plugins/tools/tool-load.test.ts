import { rmSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKernel, definePlugin, dir, type Kernel, leaf, NineError, Root } from "#core";
import { bundle } from "../toolsrv/bundle.ts";
import { type Place, place } from "./script.ts";

let at: Place;
let kernel: Kernel;
let client: string;
const loaded: string[] = [];

/** Just the file that the tool writes to. */
const agentTools = definePlugin({
  name: "agent-tools",
  doc: "An agent's `tools`.",
  setup({ mount }) {
    const tools = leaf("tools", {
      doc: "Loaded tools.",
      mode: 0o666,
      read: () => loaded.join("\n"),
      write: (_c, data) => {
        const name = Buffer.from(data).toString("utf8").trim();
        if (name === "forbidden") throw new NineError("tools: tool forbidden is not allowed by config default");
        loaded.push(name);
      },
    });
    const doc = "Instances.";
    mount(Root, dir("session", { doc }, dir("s-id", { doc }, dir("agent", { doc }, dir("a-id", { doc }, tools)))));
  },
});

beforeAll(async () => {
  client = await bundle("core/bin/ollie-9p.ts");
});
beforeEach(async () => {
  at = place();
  writeFileSync(at.path("ollie-9p"), `#!/bin/sh\nexec "${process.execPath}" "${client}" "$@"\n`, { mode: 0o755 });
  writeFileSync(at.path("lister.meta"), JSON.stringify({ description: "d", prompt: "Use it well." }));
  kernel = createKernel({ plugins: [agentTools()] });
  await kernel.start();
  await kernel.listen({ unix: at.path("ollie") });
});
afterEach(async () => {
  await kernel.close();
  at.remove();
});
afterAll(() => rmSync(client, { force: true }));

const load = (name: string, more: Record<string, string> = {}) =>
  at.run(
    "tool_load",
    { name },
    {
      PATH: `${at.cwd}:${process.env.PATH}`,
      NAMESPACE: at.cwd,
      OLLIE_SESSION_ID: "s-id",
      OLLIE_AGENT_ID: "a-id",
      OLLIE_TOOLS_PATH: `/nowhere:${at.cwd}`,
      ...more,
    },
  );

describe("tool_load", () => {
  test("loads through the agent's file, and tells how the tool is used", async () => {
    expect(await load("lister")).toEqual({ code: 0, out: "lister is loaded from the next step on\n\nUse it well.\n" });
    expect(loaded).toEqual(["lister"]);
  });

  test("passes a refusal on", async () => {
    const { code, out } = await load("forbidden");
    expect(code).toBe(1);
    expect(out).toContain("not allowed by config default");
    expect((await load("a b")).out).toBe('"a b" is not the name of a tool\n');
    expect((await load("lister", { OLLIE_AGENT_ID: "" })).out).toContain("works only for an agent");
  });
});
