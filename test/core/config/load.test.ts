import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "#core";
import { findConfig, isTrusted } from "../../../core/config/load.ts";
import { folders } from "./folders.ts";

describe("a config is looked for", () => {
  test("where --config says, else $OLLIE_CONFIG, else in a trusted folder, else with the user, else in the package", () => {
    const f = folders();
    const asked = f.put("asked.ts", "");
    const named = f.put("named.ts", "");
    const here = f.put("work/ollie.config.ts", "");
    const users = f.put("home/.config/ollie/ollie.config.ts", "");
    f.put("home/.config/ollie/trusted", `/elsewhere\n${f.work}\n`);
    const find = (from?: string, env: object = {}) => findConfig(from, f.work, { ...f.env, ...env });
    expect(find(asked, { OLLIE_CONFIG: named })).toEqual({ file: asked, why: "--config" });
    expect(find(undefined, { OLLIE_CONFIG: named })).toEqual({ file: named, why: "$OLLIE_CONFIG" });
    expect(find()).toEqual({ file: here, why: "this trusted folder" });
    expect(findConfig(undefined, f.home, f.env)).toEqual({ file: users, why: "the user's config" });
    const fresh = folders();
    expect(findConfig(undefined, fresh.work, fresh.env).why).toBe("ollie's own");
    expect(findConfig(undefined, fresh.work, fresh.env).file.startsWith(packageRoot())).toBe(true);
  });

  test("in a folder only where that is trusted", () => {
    const f = folders();
    f.put("work/ollie.config.ts", "");
    expect(findConfig(undefined, f.work, f.env).why).toBe("ollie's own");
    f.put("home/.config/ollie/trusted", `${f.work}/below\n${join(f.work, "..")}\n`);
    expect(isTrusted(f.work, f.env)).toBe(false);
    f.put("home/.config/ollie/trusted", `${f.work}\n`);
    expect(isTrusted(f.work, f.env)).toBe(true);
  });

  test("relative to the working folder, and a missing one is an error that names it", () => {
    const f = folders();
    f.put("work/mine.ts", "");
    expect(findConfig("mine.ts", f.work, f.env).file).toBe(join(f.work, "mine.ts"));
    expect(() => findConfig("gone.ts", f.work, f.env)).toThrow(`config ${join(f.work, "gone.ts")} does not exist`);
    expect(() => findConfig(undefined, f.work, { OLLIE_CONFIG: "gone.ts" })).toThrow("does not exist");
  });

  test("in OLLIE_CFG_PATH in place of ~/.config/ollie", () => {
    const f = folders();
    const users = f.put("cfg/ollie.config.ts", "");
    expect(findConfig(undefined, f.work, { ...f.env, OLLIE_CFG_PATH: join(f.work, "../cfg") }).file).toBe(users);
  });
});
