import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createKernel, definePlugin, env, type Principal, type Use } from "#core";
import { ctl, invalidate } from "#plugins/control";
import { showConfig } from "../../../plugins/control/config.ts";
import control from "../../../plugins/control/index.ts";
import events from "../../../plugins/events/index.ts";
import sessions from "../../../plugins/sessions/index.ts";

const agent: Principal = { name: "a", groups: ["agent"], kind: "agent", agent: "a", session: "s" };
const hook: Principal = { name: "h", groups: [], kind: "hook" };

async function start(...plugins: Use[]) {
  const kernel = createKernel({ plugins: [...plugins, control()] });
  onTestFinished(() => kernel.close());
  await kernel.start();
  return kernel;
}

const broken = definePlugin({
  name: "broken",
  version: "1.2.3",
  doc: "Fails.",
  config: z.strictObject({ apiKey: z.string(), url: z.string() }),
  setup() {
    throw new Error("no\nluck");
  },
});

test("help shows every file with its mode and doc", async () => {
  const { fs } = await start(events(), sessions({ persist: false }));
  const help = await fs.read("/help");
  for (const name of ["help", "ctl", "eventwait", "session/", "new", "idx", "env", "sandbox", "plugins/"])
    expect(help).toMatch(new RegExp(`^0\\d{3} +${name} `, "m"));
  expect(help).toMatch(/^0600 +ctl .*\(user alone\)$/m);
});

test("plugins lists all, and a directory for each says how it fares", async () => {
  const { fs } = await start(events(), broken({ apiKey: env("SOME_KEY", "the secret"), url: "http://x" }));
  expect(await fs.read("/plugins/idx")).toMatch(
    /^events\trunning\t\d+\t\nbroken\tfailed\t\d+\t.*no luck.*\ncontrol\trunning\t\d+\t\n$/,
  );
  expect((await fs.ls("/plugins")).sort()).toEqual(["broken", "control", "events", "idx"]);
  expect(await fs.read("/plugins/events/status")).toMatch(
    /^state=running\n(.*\n)*provides=events\n(.*\n)*mounts=\/eventwait\n/,
  );
  expect(await fs.read("/plugins/broken/status")).toMatch(/^state=failed\nversion=1\.2\.3\n/);
  expect(await fs.read("/plugins/broken/error")).toMatch(/^.*no luck\n$/);
  expect(await fs.read("/plugins/events/error")).toBe("");
  expect(await fs.read("/plugins/broken/doc")).toBe("Fails.\n");
  const config = await fs.read("/plugins/broken/config");
  expect(JSON.parse(config)).toEqual({ apiKey: "env(SOME_KEY)", url: "http://x" });
  await expect(fs.read("/plugins/nope/status")).rejects.toThrow(/not found/);
});

test("a config shows references, and hides secrets that stand there", () => {
  const shown = showConfig({
    apiKey: "hush",
    a: { tokens: ["hush"], maxTokens: 5, password: null },
    secret: env("X"),
    name: "n",
  });
  expect(JSON.parse(shown)).toEqual({
    apiKey: "[hidden]",
    a: { tokens: "[hidden]", maxTokens: 5, password: null },
    secret: "env(X)",
    name: "n",
  });
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  expect(showConfig(circle)).toMatch(/^options that are no JSON: .*\n/);
});

test("invalidate reaches every plugin that listens, and takes known words alone", async () => {
  const seen: unknown[] = [];
  const listener = definePlugin({
    name: "listener",
    doc: "Listens.",
    setup: (api) => api.on(invalidate, (what) => void seen.push(what)),
  });
  const { fs } = await start(listener());
  await fs.rdwr("/ctl", "invalidate models\ninvalidate\n");
  expect(seen).toEqual(["models", undefined]);
  await expect(fs.rdwr("/ctl", "invalidate\ninvalidate soup")).rejects.toThrow(
    'ctl: invalidate takes models, tools, agents or nothing, not "soup"',
  );
  expect(seen).toHaveLength(2);
});

test("kill ends a session, or asks for the server's end", async () => {
  const kernel = await start(events(), sessions({ persist: false }));
  const reasons: string[] = [];
  kernel.onStop((reason) => reasons.push(reason));
  await kernel.fs.rdwr("/session/new", "name=s");
  await expect(kernel.fs.rdwr("/ctl", "kill nope")).rejects.toThrow('ctl: there is no session "nope"');
  await kernel.fs.rdwr("/ctl", "kill s");
  expect(await kernel.fs.ls("/session")).not.toContain("s");
  await kernel.fs.rdwr("/ctl", "kill\n");
  await new Promise((resolve) => setImmediate(resolve));
  expect(reasons).toEqual([expect.stringMatching(/^kill from /)]);
});

test("verbs that are to come say so", async () => {
  const { fs } = await start();
  await expect(fs.rdwr("/ctl", "plugin reload x")).rejects.toThrow(
    "ctl: plugin is not available yet (restart the server)",
  );
  await expect(fs.rdwr("/ctl", "config reload")).rejects.toThrow(/not available yet/);
});

test("ctl and plugins are for the user alone", async () => {
  const { fs } = await start();
  for (const other of [agent, hook]) {
    await expect(fs.as(other).rdwr("/ctl", "invalidate")).rejects.toThrow();
    await expect(fs.as(other).read("/plugins/idx")).rejects.toThrow("permission denied");
    await expect(fs.as(other).read("/plugins/control/config")).rejects.toThrow("permission denied");
    expect(await fs.as(other).read("/help")).toContain("help");
  }
});

test("a verb table checks all lines before the first runs", async () => {
  const ran: string[] = [];
  const handle = ctl<undefined>("ctl", {
    go: { args: "WHERE", doc: "go there", run: (_, arg) => `${ran.push(arg)}\n` },
    stop: { args: "", doc: "stop", run: async () => "stopped\n" },
  });
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(await handle(undefined, bytes("  go  far away \r\n\nstop"))).toBe("1\nstopped\n");
  expect(ran).toEqual(["far away"]);
  for (const [body, error] of [
    ["go x\nfly", 'ctl: unknown verb "fly" (verbs: go stop help)'],
    ["go x\ngo", "ctl: go needs WHERE"],
    ["go x\nstop it", "ctl: stop takes no argument"],
    ["__proto__", 'ctl: unknown verb "__proto__"'],
    ["constructor", "unknown verb"],
    ["\n", "ctl: no verb (verbs: go stop help)"],
    [`go ${"x".repeat(70_000)}`, "a line is at most 65536 bytes"],
  ] as const)
    await expect(handle(undefined, bytes(body)), body).rejects.toThrow(error);
  expect(ran).toHaveLength(1);
  expect(await handle(undefined)).toBe(await handle(undefined, bytes("help")));
});
