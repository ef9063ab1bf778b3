/** olliesrv config init|check, and configs in folders outside of the package: the built daemon as a person starts it. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folders } from "./folders.ts";

const head = 'import { defineConfig, env } from "ollie";\nimport events from "ollie/plugins/events";\n';
const config = (plugins: string, more = "") =>
  `${head}export default defineConfig({ ${more} plugins: [${plugins}] });\n`;

describe("config check", () => {
  test("without any config of the user's checks ollie's own, and starts nothing", () => {
    const { status, out, err } = folders().olliesrv("config", "check");
    expect([status, err]).toEqual([0, ""]);
    expect(out).toMatch(/\(ollie's own\) is good\nplugins, in order: .*sessions.* agent/);
  });

  test("says which file it took and why", () => {
    const f = folders();
    const file = f.put("my.ts", config("events()"));
    expect(f.olliesrv("config", "check", "--config", file).out).toBe(
      `${file} (--config) is good\nplugins, in order: events\n`,
    );
  });

  test.each<[string, string, RegExp]>([
    [
      "an unknown option",
      config("events({ nonsense: 1 } as never)"),
      /: events(\.|: ).*nonsense|: events: takes no options/,
    ],
    ["an unknown key", config("events()", "plugin: [],"), /unknown key "plugin" \(keys: listen log plugins\)/],
    [
      "a plugin that was not called",
      config("events as never"),
      /plugins\[0\] is not a plugin \(call its factory: name\(\)\)/,
    ],
    ["a plugin twice", config("events(), events()"), /plugin events stands twice in the config/],
    [
      "no default export",
      `${head}defineConfig({ plugins: [events()] });`,
      /its default export is no config \(use defineConfig\)/,
    ],
    ["no list", "export default { plugins: 5 };", /plugins is not a list/],
    [
      "a need that nobody meets",
      `${head.replaceAll("events", "agent")}export default defineConfig({ plugins: [agent()] });`,
      /: agent: needs /,
    ],
    ["a syntax error", "export default {", /.+/],
    ["a throw", 'throw new Error("no luck");', /no luck/],
    ["a module that is not there", 'import "./gone.ts";', /gone.ts'\n$/],
    ["a plugin that is not there", 'import gone from "ollie/plugins/gone"; gone();', /'ollie\/plugins\/gone'\n$/],
    ["an unknown level", config("events()", 'log: "loud" as never,'), /log: unknown level "loud" \(levels: debug info/],
    [
      "an address that is none",
      config("events()", 'listen: "foo" as never,'),
      /listen: address "foo" is none of unix!/,
    ],
    ["a listen that is none", config("events()", "listen: 5 as never,"), /listen is none of "unix"/],
    [
      "a slip in the second argument",
      config("events(undefined, { witout: [] } as never)"),
      /events: unknown key "witout" in its second argument \(keys: rename without off\)/,
    ],
  ])("with %s: status 1, the file and one sentence, no stack", (_what, text, message) => {
    const f = folders();
    const file = f.put("my.ts", text);
    const { status, out, err } = f.olliesrv("config", "check", "--config", file);
    expect([status, out]).toEqual([1, ""]);
    expect(err).toMatch(message);
    expect(err.startsWith("olliesrv: ")).toBe(true);
    expect(err).toContain(file);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test("tells all faults at once", () => {
    const f = folders();
    const imports =
      'import backends from "ollie/plugins/backends";\nimport scheduler from "ollie/plugins/scheduler";\n';
    const file = f.put("my.ts", imports + config("backends({ a: 1 } as never), scheduler({ b: 2 } as never)"));
    const lines = f.olliesrv("config", "check", "--config", file).err.trim().split("\n");
    expect(lines.map((line) => /: (backends|scheduler)\b/.exec(line)?.[1])).toEqual(["backends", "scheduler"]);
  });

  /** Two plugins in the config itself; `setup` is what stands in that of the second. */
  const two = (setup: string, more = "") => `import { definePlugin, defineConfig, leaf, Root } from "ollie";
import events from "ollie/plugins/events";
import sessions from "ollie/plugins/sessions";
import { PerAgent } from "ollie/agent";
const file = (text) => leaf("same", { doc: "d", read: () => text });
const one = definePlugin({ name: "one", doc: "d", setup: (api) => api.mount(Root, file("1")) });
const two = definePlugin({ name: "two", doc: "d", ${more} async setup(api) { ${setup} } });
export default defineConfig({ plugins: [events(), sessions(), one(), two()] });
`;

  test.each<[string, string, string, RegExp]>([
    ["a path that two plugins serve", 'api.mount(Root, file("2"))', "", /: two: \/same is already served by one$/],
    [
      "a file that breaks a rule",
      'api.mount(Root, leaf("bad", { read: () => "" }))',
      "",
      /: two: .*\/bad.* needs a doc/,
    ],
    ["a setup that fails", 'throw new Error("no luck")', "", /: two: setup: no luck$/],
    ["a required one that fails", 'throw new Error("no luck")', "required: true,", /: two: no luck$/],
  ])("with %s: what the daemon would say, without starting", (_what, setup, more, message) => {
    const f = folders();
    const file = f.put("my.ts", two(setup, more));
    const { status, out, err } = f.olliesrv("config", "check", "--config", file);
    expect([status, out]).toEqual([1, ""]);
    expect(err.trim()).toMatch(message);
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err.startsWith(`olliesrv: ${file}: `)).toBe(true);
  });

  test("files that wait for a plugin that is not there are noted", () => {
    const f = folders();
    const file = f.put("my.ts", two('api.mount(PerAgent, file("2"))'));
    const { status, out } = f.olliesrv("config", "check", "--config", file);
    expect(status).toBe(0);
    expect(out).toMatch(
      / is good\n.*\nnote: nothing serves \/session\/\{name\}\/agent\/\{aname\}: files of two wait\n$/,
    );
  });

  test("touches nothing outside of its process", () => {
    const f = folders();
    const saved = join(f.home, "saved");
    const plugins = [
      `sessions({ dir: ${JSON.stringify(saved)} })`,
      `logPino({ file: ${JSON.stringify(join(f.home, "log/x.json"))} })`,
      `identity()`,
      `tools()`,
      `toolsrv()`,
      `listens()`,
    ];
    const text = `import { definePlugin } from "ollie";
import sessions from "ollie/plugins/sessions";
import logPino from "ollie/plugins/log-pino";
import identity from "ollie/plugins/identity";
import tools from "ollie/plugins/tools";
import toolsrv from "ollie/plugins/toolsrv";
const listens = definePlugin({ name: "listens", doc: "d", async setup(api) {
  const { address } = await api.listen({ unix: ${JSON.stringify(join(f.home, "sock"))} });
  if (!api.dryRun) throw new Error("not dry");
  if (address !== ${JSON.stringify(`unix!${join(f.home, "sock")}`)}) throw new Error(address);
} });
export default { plugins: [${plugins.join(", ")}] };
`;
    const file = f.put("my.ts", text);
    const inHome = () => readdirSync(f.home, { recursive: true, encoding: "utf8" });
    const before = inHome();
    expect(f.olliesrv("config", "check", "--config", file)).toMatchObject({ status: 0, err: "" });
    const made = inHome().filter((path) => !before.includes(path));
    // Compiled configs are kept.
    expect(made.filter((path) => !/^\.local(\/share(\/ollie(\/jiti.*)?)?)?$/.test(path))).toEqual([]);
  });

  test("the daemon says the same, with the file's name, and starts nothing", () => {
    const f = folders();
    const file = f.put("my.ts", config("events({ nonsense: 1 } as never)"));
    const { status, err } = f.olliesrv("fgstart", "--config", file);
    expect(status).toBe(1);
    expect(err).toContain(`olliesrv: ${file}: events`);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test("an unknown option, or a word too many, is status 2 and one sentence", () => {
    const { olliesrv } = folders();
    expect(olliesrv("--nope")).toMatchObject({
      status: 2,
      err: "olliesrv: Unknown option '--nope' (see olliesrv --help)\n",
    });
    expect(olliesrv("status", "now")).toMatchObject({
      status: 2,
      err: 'olliesrv: status takes no argument "now" (see olliesrv --help)\n',
    });
  });

  test("a wrong command line is status 2 with the usage", () => {
    for (const args of [["config"], ["config", "chek"], ["config", "check", "extra"]])
      expect(folders().olliesrv(...args)).toMatchObject({
        status: 2,
        err: expect.stringContaining("config check|init"),
      });
  });
});

describe("config init", () => {
  test("writes a config that is good and that tsc understands, and leaves one alone that is there", () => {
    const f = folders();
    const cfg = join(f.home, ".config/ollie");
    expect(f.olliesrv("config", "init")).toMatchObject({
      status: 0,
      out: `wrote ${cfg}/ollie.config.ts\nwrote ${cfg}/tsconfig.json\n`,
    });
    const { out } = f.olliesrv("config", "check");
    expect(out).toContain(`${cfg}/ollie.config.ts (the user's config) is good`);
    const plugin = `import { definePlugin, leaf, Root } from "ollie";
import { PerSession } from "ollie/sessions";
import { testKernel } from "ollie/testing";
import * as z from "zod";
const hello = definePlugin({
  name: "hello",
  doc: "x",
  config: z.object({ to: z.string() }),
  setup: ({ mount, config }) => {
    mount(PerSession, leaf("hello", { doc: "x", read: (c) => c.session.name + config.to }));
    mount(Root, leaf("hello", { doc: "x", read: (c) => c.session.name }));
  },
});
hello({ too: "x" });
export default testKernel;
`;
    f.put("home/.config/ollie/hello.ts", plugin);
    const tsc = join(import.meta.dirname, "../../../node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, ["-p", cfg], { cwd: cfg, encoding: "utf8" });
    // What tsc may say of ollie's own sources is not the user's.
    const faults = stdout.split("\n").filter((line) => /^(hello|ollie\.config)\.ts/.test(line));
    expect(faults.map((line) => line.replace(/: .*/, ""))).toEqual(["hello.ts(11,58)", "hello.ts(14,9)"]);
    const text = readFileSync(join(cfg, "ollie.config.ts"), "utf8");
    expect(f.olliesrv("config", "init")).toMatchObject({ status: 1, err: expect.stringContaining("exists already") });
    expect(readFileSync(join(cfg, "ollie.config.ts"), "utf8")).toBe(text);
  });
});

describe("compiled configs", () => {
  const check = (f: ReturnType<typeof folders>) =>
    f.olliesrv("config", "check", "--config", f.put("my.ts", config("events()")));

  test("are kept in a folder that only the user can read", () => {
    const f = folders();
    check(f);
    const cache = join(f.home, ".local/share/ollie/jiti");
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(statSync(join(f.home, ".local/share/ollie")).mode & 0o777).toBe(0o700);
  });

  test("an open folder is closed first", () => {
    const f = folders();
    const cache = join(f.home, ".local/share/ollie/jiti");
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o777);
    expect(check(f).status).toBe(0);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
  });

  test("are not kept where there is no place for them", () => {
    const f = folders();
    f.put("home/.local", "a file");
    expect(check(f)).toMatchObject({ status: 0, err: "" });
  });

  test("lie where ollie keeps its data, which no tool may write as it may caches; ollie's own config needs none", () => {
    const f = folders();
    f.env.OLLIE_DATA_PATH = join(f.home, "elsewhere");
    expect(f.olliesrv("config", "check").status).toBe(0);
    expect(existsSync(join(f.env.OLLIE_DATA_PATH, "jiti"))).toBe(false);
    check(f);
    expect(statSync(join(f.env.OLLIE_DATA_PATH, "jiti")).mode & 0o777).toBe(0o700);
    expect(existsSync(join(f.home, ".cache"))).toBe(false);
  });
});
