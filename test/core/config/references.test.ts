import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { definePlugin, env, file, leaf, Root } from "#core";
import control from "../../../plugins/control/index.ts";
import { failure, kernelOf, plug, started } from "../kit.ts";
import { folders } from "./folders.ts";

const keyed = (seen: unknown[] = []) =>
  definePlugin({
    name: "keyed",
    doc: "Has a key.",
    config: z.strictObject({
      key: z.string(),
      nested: z.strictObject({ list: z.array(z.string()) }).optional(),
      limit: z.number().int().positive().optional(),
    }),
    setup({ config, mount }) {
      seen.push(config);
      mount(Root, leaf("keyed", { doc: "x", read: () => `${config.key.length}` }));
    },
  });

describe("env() and file()", () => {
  test("give their values to setup, and are shown as references everywhere", async () => {
    const f = folders();
    process.env.OLLIE_TEST_KEY = "s3cret-one";
    const path = f.put("key", "s3cret-two\n");
    const seen: unknown[] = [];
    try {
      const use = keyed(seen)({ key: env("OLLIE_TEST_KEY"), nested: { list: [file(path)] } });
      const k = await started([use, control()]);
      expect(seen).toEqual([{ key: "s3cret-one", nested: { list: ["s3cret-two"] } }]);
      const shown = await k.fs.read("/plugins/keyed/config");
      expect(JSON.parse(shown)).toEqual({ key: "env(OLLIE_TEST_KEY)", nested: { list: [`file(${path})`] } });
      const all = JSON.stringify(k.status()) + inspect(k.status(), { depth: 9 }) + shown;
      expect(all).not.toContain("s3cret");
    } finally {
      delete process.env.OLLIE_TEST_KEY;
    }
  });

  test("are read at each start, so one use serves kernels with other values", async () => {
    const seen: { key: string }[] = [];
    const use = keyed(seen as unknown[])({ key: env("OLLIE_TEST_KEY", "fallback") });
    await started([use]);
    process.env.OLLIE_TEST_KEY = "set";
    try {
      await started([use]);
    } finally {
      delete process.env.OLLIE_TEST_KEY;
    }
    expect(seen.map(({ key }) => key)).toEqual(["fallback", "set"]);
  });

  test("unset: the option is as if it had not been written", async () => {
    const k = kernelOf([keyed()({ key: env("OLLIE_TEST_UNSET") })]);
    expect(await failure(() => k.start())).toMatch(/^keyed\.key: /);
  });

  test("a file that is not there is an error with plugin, key and path", async () => {
    const k = kernelOf([keyed()({ key: "x", nested: { list: ["a", file("/nonexistent/key")] } })]);
    expect(await failure(() => k.start())).toMatch(/^keyed\.nested\.list\.1: file\(\/nonexistent\/key\): ENOENT/);
  });
});

describe("options", () => {
  test("that no key of the schema takes, or of a wrong type, are errors with plugin and path", async () => {
    const wrong = { key: "x", lmit: 3, limit: -1, nested: { list: [5] } } as never;
    const error = await kernelOf([keyed()(wrong)])
      .start()
      .catch((cause) => cause);
    expect(error.code).toBe("E_CONFIG");
    expect(error.message).toContain('keyed: Unrecognized key: "lmit"');
    expect(error.message).toMatch(/keyed\.limit: .+/);
    expect(error.message).toMatch(/keyed\.nested\.list\.0: .+/);
  });

  test("of all plugins are checked before any is set up", async () => {
    let setups = 0;
    const first = plug("first", () => void setups++);
    const message = await failure(() => kernelOf([first, keyed()(), keyed()({ key: 1 } as never)]).start());
    expect(message.split("\n").filter((line) => line.startsWith("keyed.key"))).toHaveLength(2);
    expect(setups).toBe(0);
  });

  test("for a plugin that takes none are an error", async () => {
    const plain = definePlugin({ name: "plain", doc: "x", setup() {} });
    expect(await failure(() => kernelOf([plain({ a: 1 } as never)]).start())).toBe("plain: takes no options");
  });

  test("of a plugin that is off are not looked at", async () => {
    const k = await started([keyed()({ nonsense: 1 } as never, { off: true })]);
    expect(k.status()[0]).toMatchObject({ state: "off" });
  });

  test("a schema that breaks is the plugin's error, by name", async () => {
    const odd = definePlugin({
      name: "odd",
      doc: "x",
      config: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate() {
            throw new Error("broken");
          },
        },
      },
      setup() {},
    });
    expect(await failure(() => kernelOf([odd()]).start())).toBe("odd: its schema failed: broken");
  });
});
