import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "#core";
import { findConfig } from "../../../core/config/load.ts";
import { type Regular, readRegular } from "../../../core/config/regular.ts";
import { trustFiles } from "../../../core/config/trust.ts";
import { folders } from "./folders.ts";

describe("a config is looked for", () => {
  test("where --config says, else $OLLIE_CONFIG, else in the folder where it is trusted, else with the user, else in the package", () => {
    const f = folders();
    const asked = f.put("asked.ts", "");
    const named = f.put("named.ts", "");
    const here = f.put("work/ollie.config.ts", "");
    const users = f.put("home/.config/ollie/ollie.config.ts", "");
    trustFiles([readRegular(here) as Regular], f.env);
    const find = (from?: string, env: object = {}) => findConfig(from, f.work, { ...f.env, ...env });
    expect(find(asked, { OLLIE_CONFIG: named })).toEqual({ file: asked, why: "--config" });
    expect(find(undefined, { OLLIE_CONFIG: named })).toEqual({ file: named, why: "$OLLIE_CONFIG" });
    expect(find()).toEqual({ file: here, why: "trusted in this folder" });
    expect(findConfig(undefined, f.home, f.env)).toEqual({ file: users, why: "the user's config" });
    const fresh = folders();
    expect(findConfig(undefined, fresh.work, fresh.env).why).toBe("ollie's own");
    expect(findConfig(undefined, fresh.work, fresh.env).file.startsWith(packageRoot())).toBe(true);
  });

  test("in a folder only as it was when it was trusted", () => {
    const f = folders();
    const here = f.put("work/ollie.config.ts", "one");
    const why = () => findConfig(undefined, f.work, f.env).why;
    expect(why()).toBe("ollie's own");
    f.put("home/.config/ollie/trusted", `${f.work}\n${here}\n`);
    expect(why()).toBe("ollie's own");
    trustFiles([readRegular(here) as Regular], f.env);
    expect(why()).toBe("trusted in this folder");
    f.put("work/ollie.config.ts", "two");
    expect(why()).toBe("ollie's own");
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
