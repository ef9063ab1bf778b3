import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCredential } from "#plugins/sessions";
import { sessionEnv, toolEnv } from "#plugins/toolsrv";
import { capture } from "../../../plugins/toolsrv/capture.ts";
import { reduce } from "../../../plugins/toolsrv/reduce.ts";
import { passArgs, positional } from "../../../plugins/toolsrv/server/argv.ts";
import { cacheEnv } from "../../../plugins/toolsrv/server/caches.ts";

describe("capture", () => {
  test("head, tail and what was left out are always all of it", () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        chunks,
        fc.integer({ min: 4, max: 32 }),
        fc.integer({ min: 4, max: 32 }),
        (list, headSize, tailSize) => {
          const kept = capture(headSize, tailSize);
          // ASCII, so that characters are bytes.
          const bytes = Buffer.concat(list.map((chunk) => Buffer.from(chunk.map((byte) => 0x20 + (byte % 0x5f)))));
          let from = 0;
          for (const { length } of list) {
            kept.push(bytes.subarray(from, from + length));
            from += length;
          }
          const { head, tail, omitted } = kept.result();
          expect(kept.total).toBe(bytes.length);
          expect(head.length + omitted + tail.length).toBe(bytes.length);
          expect(bytes.toString().startsWith(head)).toBe(true);
          expect(bytes.toString().endsWith(tail)).toBe(true);
          expect(omitted > 0).toBe(bytes.length > headSize + tailSize);
        },
      ),
    );
  });

  test("a cut never splits a character", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀"), maxLength: 200 });
    fc.assert(
      fc.property(texts, (text) => {
        const kept = capture(16, 16);
        kept.push(Buffer.from(text));
        const { head, tail, omitted } = kept.result();
        expect(head + tail).not.toContain("\ufffd");
        expect(Buffer.byteLength(head) + omitted + Buffer.byteLength(tail)).toBe(Buffer.byteLength(text));
      }),
    );
  });
});

describe("reduce", () => {
  test.each([
    ["plain\ttext\n", "plain\ttext\n"],
    ["10%\r20%\r100%\ndone\n", "100%\ndone\n"],
    ["a\r\nb\r\n", "a\nb\n"],
    ["\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b(B", "red x"],
    ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["spin|\b/\b-\bok", "spinok"],
    ["a\0\0\0b\x07", "a\ufffdb"],
    ["cut \x1b[", "cut "],
    ["ünï\r€uro", "€uro"],
  ])("%j becomes %j", (given, shown) => {
    expect(reduce(given)).toBe(shown);
  });

  test("is quick on a long line of frames", () => {
    expect(reduce(`${"\b\r|".repeat(200_000)}end`)).toBe("|end");
  });
});

describe("arguments", () => {
  const properties = { b: { type: "string" }, a: { type: "array" }, c: { type: "boolean" }, d: { type: "object" } };
  const schema = { type: "object" as const, properties, required: ["c"] };

  test("positional ones: required first, up to the last that is given", () => {
    expect(positional(schema, { c: true })).toEqual(["true"]);
    expect(positional(schema, { c: false, a: ["x", 1] })).toEqual(["false", "", "x,1"]);
    expect(positional(schema, { c: true, d: { k: 1 } })).toEqual(["true", "", "", '{"k":1}']);
    expect(positional(schema, {})).toEqual([]);
  });

  test("what does not fit comes on stdin alone", () => {
    const { argv, variable, stdin, unfit } = passArgs(schema, { c: true, b: "x".repeat(100_001) });
    expect([argv, variable, unfit]).toEqual([undefined, undefined, "are too long for"]);
    expect(stdin.length).toBeGreaterThan(100_001);
    expect(passArgs(schema, { c: true, b: "a\0b" })).toMatchObject({
      argv: undefined,
      unfit: "hold a null character, which can not stand on",
      variable: '{"c":true,"b":"a\\u0000b"}',
    });
  });
});

describe("caches", () => {
  const env = { HOME: "/h" };
  test("stay where they are when they may be written", () => {
    expect(cacheEnv(env, "/s", () => true)).toEqual({});
    expect(cacheEnv({ ...env, GOPATH: "/go:/b" }, "/s", (path) => path === "/go/pkg/mod")).not.toHaveProperty(
      "GOMODCACHE",
    );
  });
  test("are the session's otherwise, and where there is no home", () => {
    const all = {
      XDG_CACHE_HOME: "/s/xdg_cache_home",
      npm_config_cache: "/s/npm_config_cache",
      CARGO_HOME: "/s/cargo_home",
      GOMODCACHE: "/s/gomodcache",
    };
    expect(cacheEnv(env, "/s", () => false)).toEqual(all);
    expect(cacheEnv({}, "/s")).toEqual(all);
    expect(cacheEnv({ HOME: "/dev/null/home" }, "/s")).toEqual(all);
  });
});

describe("environment", () => {
  test("a whitelist, without anything that is named like a credential", () => {
    const given = {
      HOME: "/h",
      LC_ALL: "C",
      XDG_CONFIG_HOME: "/c",
      OLLIE_X: "1",
      OLLIE_OPENAI_KEY: "k",
      OLLIE_DB_PASSWORD: "p",
      LD_PRELOAD: "/evil.so",
      NODE_OPTIONS: "--x",
      DBUS_SESSION_BUS_ADDRESS: "d",
      NUL: "a\0b",
    };
    expect(toolEnv(given)).toEqual({ HOME: "/h", LC_ALL: "C", XDG_CONFIG_HOME: "/c", OLLIE_X: "1" });
    expect(sessionEnv({ A: "1", GH_TOKEN: "t", "B=C": "2", "": "3" })).toEqual({ A: "1" });
    for (const name of ["A_KEY", "a_token", "X_SECRET", "PASSWORD", "DB_PASSWORD_FILE", "AWS_CREDENTIALS"])
      expect(isCredential(name)).toBe(true);
    for (const name of ["KEYBOARD", "TOKENS_PER_MINUTE", "SECRETARY"]) expect(isCredential(name)).toBe(false);
  });
});
