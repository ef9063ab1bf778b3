/** The example plugin from a folder outside of the package: no node_modules, an empty HOME, the built daemon. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "ollie/client";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const daemon = join(root, "dist/core/bin/olliesrv.js");

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "o-")));
  mkdirSync(join(folder, "home"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const env = () => ({
  PATH: process.env.PATH,
  HOME: join(folder, "home"),
  NAMESPACE: join(folder, "ns"),
  OLLIE_BACKEND: "script",
});

function config(plugins: string, imports = ""): string {
  const file = join(folder, "ollie.config.ts");
  const head = 'import { defineConfig, env } from "ollie";\nimport events from "ollie/plugins/events";\n';
  writeFileSync(file, `${head}${imports}export default defineConfig({ plugins: [${plugins}] });\n`);
  return file;
}

/** Runs `fn` against a daemon with this config. */
async function serving(file: string, fn: (c: Awaited<ReturnType<typeof connect>>) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [daemon, "fgstart", "--config", file], {
    env: env(),
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  try {
    while (!said.includes("serving at")) {
      if (child.exitCode !== null) throw new Error(`olliesrv ended: ${said}`);
      await Promise.race([once(child.stderr, "data"), once(child, "exit")]);
    }
    const client = await connect(`unix!${join(folder, "ns", "ollie")}`);
    await fn(client);
    await client.close();
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }
}

const text = async (bytes: Promise<Uint8Array>) => Buffer.from(await bytes).toString("utf8");

const standard = `import agent from "ollie/plugins/agent";
import agentConfig from "ollie/plugins/agent-config";
import backendScript from "ollie/plugins/backend-script";
import backends from "ollie/plugins/backends";
import prompts from "ollie/plugins/prompts";
import scheduler from "ollie/plugins/scheduler";
import sessions from "ollie/plugins/sessions";
import tools from "ollie/plugins/tools";
import toolsrv from "ollie/plugins/toolsrv";
`;
const list =
  "events(), sessions(), agentConfig(), prompts(), backends(), backendScript(), scheduler(), tools(), toolsrv(), agent()";

test("a .ts plugin with zod adds its files at the root, in sessions and in agents", async () => {
  copyFileSync(join(import.meta.dirname, "tally.ts"), join(folder, "tally.ts"));
  const file = config(`${list}, tally({ limit: 5 })`, `${standard}import tally from "./tally.ts";\n`);
  await serving(file, async (client) => {
    expect(await text(client.read("tally"))).toBe("0\n");
    await client.rdwr("session/new", `name=s1 cwd=${folder} agent=default`);
    expect((await client.ls("session/s1")).map((one) => one.name)).toContain("tally");
    const [agent] = (await client.ls("session/s1/agent")).filter((one) => one.mode & 0x80000000);
    expect(await text(client.read(`session/s1/agent/${agent?.name}/tally`))).toBe("0\n");
  });
});

test("an .mjs plugin works alike, and its env() references are not shown", async () => {
  writeFileSync(
    join(folder, "hello.mjs"),
    `import { definePlugin, leaf, Root } from "ollie";
import * as z from "zod";
export default definePlugin({
  name: "hello", doc: "Says hello.", config: z.strictObject({ to: z.string() }),
  setup({ config, mount }) { mount(Root, leaf("hello", { doc: "Hello", read: () => \`hello \${config.to}\\n\` })); },
});
`,
  );
  const file = config('events(), hello({ to: env("HOME") })', 'import hello from "./hello.mjs";\n');
  await serving(file, async (client) => {
    expect(await text(client.read("hello"))).toBe(`hello ${join(folder, "home")}\n`);
  });
});

test("an error in a late timer stops that plugin only, and is written down", async () => {
  writeFileSync(
    join(folder, "late.ts"),
    `import { definePlugin, leaf, Root } from "ollie";
export default definePlugin({ name: "late", doc: "Fails late.", setup({ mount }) {
  mount(Root, leaf("fuse", { doc: "Lights it", read: () => { setTimeout(() => { throw new Error("late one"); }, 50); return "lit\\n"; } }));
} });
`,
  );
  const file = config("events(), late()", 'import late from "./late.ts";\n');
  await serving(file, async (client) => {
    const event = client.stream("eventwait");
    expect(await text(client.read("fuse"))).toBe("lit\n");
    // The stopped plugin's file goes; everything else goes on.
    for (let i = 0; i < 200; i++) {
      const names = (await client.ls("")).map((one) => one.name);
      if (!names.includes("fuse")) break;
      await new Promise((done) => setTimeout(done, 10));
    }
    expect((await client.ls("")).map((one) => one.name)).toEqual(["eventwait"]);
    await event.return?.(undefined);
  });
});

test("two plugins of one folder, one of which fails late and again and again: the daemon and the other go on", async () => {
  const plugin = (name: string, body: string) =>
    writeFileSync(
      join(folder, `${name}.mjs`),
      `import { definePlugin, leaf, Root } from "ollie";
export default definePlugin({ name: "${name}", doc: "x", setup({ mount }) {
  mount(Root, leaf("${name}", { doc: "x", ${body} }));
} });
`,
    );
  plugin("steady", 'read: () => "steady\\n"');
  plugin(
    "shaky",
    `stream: async function* () {
      yield "one\\n";
      for (const ms of [1, 2, 30]) setTimeout(() => { throw new Error("after " + ms); }, ms);
      void Promise.reject("loose");
      yield "two\\n";
      await new Promise(() => {});
    }`,
  );
  const imports = `import control from "ollie/plugins/control";
import shaky from "./shaky.mjs";
import steady from "./steady.mjs";
`;
  await serving(config("control(), shaky(), steady()", imports), async (client) => {
    const stream = client.stream("shaky");
    const reads = (async () => {
      for await (const _ of stream);
    })();
    await expect(reads).rejects.toThrow("shaky: plugin stopped");
    for (;;) {
      const [row] = (await text(client.read("plugins/idx"))).split("\n").filter((line) => line.startsWith("shaky"));
      if (row?.includes("after 30")) break;
      await new Promise((done) => setTimeout(done, 10));
    }
    expect(await text(client.read("steady"))).toBe("steady\n");
    expect((await client.ls("")).map(({ name }) => name)).not.toContain("shaky");
    expect(await text(client.read("plugins/shaky/status"))).toContain("state=stopped\n");
    expect(await text(client.read("plugins/steady/error"))).toBe("");
  });
});

test.each([
  ["an unknown option", "events({ nonsense: 1 } as never)", "", /events/],
  ["a plugin twice", "events(), events()", "", /plugin events stands twice/],
  ["a module that is not there", "gone()", 'import gone from "./gone.ts";\n', /gone/],
])("a config with %s: exit status and one clear sentence", (_name, plugins, imports, expected) => {
  const file = config(plugins, imports);
  let failure: { status?: number; stderr?: string } = {};
  try {
    execFileSync(process.execPath, [daemon, "fgstart", "--config", file], {
      env: env(),
      cwd: folder,
      encoding: "utf8",
      stdio: "pipe",
    });
  } catch (error) {
    failure = error as typeof failure;
  }
  expect(failure.status).toBe(1);
  expect(failure.stderr).toMatch(expected);
  expect(failure.stderr).not.toMatch(/\n\s+at /);
});
