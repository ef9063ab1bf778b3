/** Who a connection is: the listener's word, a judge, and the gate `attach`. */
import { duplexPair } from "node:stream";
import { clientOver } from "ollie/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { accept, attach, type Kernel, type ListenOptions, leaf, type Principal, Root } from "#core";
import { failure, plug, started, stateOf } from "./kit.ts";

const who = plug("who", ({ mount }) =>
  mount(
    Root,
    leaf("who", { doc: "Who asks.", read: (c) => `${c.principal.kind} ${c.principal.name}` }),
    leaf("private", { doc: "The user's.", mode: 0o400, read: () => "secret" }),
  ),
);
const agent: Principal = { name: "a-1", groups: ["agent"], kind: "agent", agent: "a-1", session: "s-1" };

async function client(k: Kernel, options: ListenOptions = {}, uname = "anyone") {
  const [near, far] = duplexPair();
  onTestFinished(() => {
    near.destroy();
    far.destroy();
  });
  k.serve(far, options);
  const one = await clientOver(near, { uname });
  const read = async (path: string) => Buffer.from(await one.read(path)).toString();
  return { read };
}

describe("a connection is", () => {
  test("the daemon's user where its listener says nothing, whatever name it gives", async () => {
    const { read } = await client(await started([who]), {}, "root");
    expect(await read("who")).toBe("user glenda");
  });

  test("who its listener says, and a name gives no rights", async () => {
    const { read } = await client(await started([who]), { principal: agent }, "glenda");
    expect(await read("who")).toBe("agent a-1");
    expect(await failure(() => read("private"))).toContain("permission denied");
  });

  test("who the judge says, at once or later", async () => {
    const k = await started([who]);
    const judge: NonNullable<ListenOptions["judge"]> = ({ uname }) => ({ ...agent, name: uname });
    expect(await (await client(k, { judge }, "x")).read("who")).toBe("agent x");
    expect(await (await client(k, { judge: async (peer) => judge(peer) as Principal }, "y")).read("who")).toBe(
      "agent y",
    );
  });
});

describe("a connection is refused", () => {
  test.each<[string, NonNullable<ListenOptions["judge"]>, string]>([
    ["with the judge's text", () => "not you", "not you"],
    [
      "where the judge throws",
      () => {
        throw new Error("confused");
      },
      "confused",
    ],
    ["where the judge rejects", () => Promise.reject(new Error("confused")), "confused"],
  ])("%s", async (_what, judge, message) => {
    const k = await started([who]);
    expect(await failure(() => client(k, { judge }))).toContain(message);
  });

  test("by a tap of the gate attach, with its text", async () => {
    const guard = plug("guard", ({ on }) =>
      on(attach, async ({ uname }) => (uname === "eve" ? { block: "no eve" } : undefined)),
    );
    const k = await started([who, guard]);
    expect(await failure(() => client(k, {}, "eve"))).toContain("no eve");
    expect(await (await client(k, {}, "bob")).read("who")).toBe("user glenda");
  });

  test("where a tap crashes: the gate fails closed", async () => {
    const guard = plug("guard", ({ on }) =>
      on(attach, () => {
        throw new Error("broken");
      }),
    );
    const k = await started([who, guard]);
    expect(await failure(() => client(k))).toContain("guard: hook attach failed: broken");
    expect(stateOf(k, "guard").error).toBe("hook attach: broken");
  });

  test("by a tap of the gate accept, which is asked once and knows what the listener was given", async () => {
    let asked = 0;
    const guard = plug("guard", ({ on }) =>
      on(accept, async ({ options }) => {
        asked++;
        return options.principal ? undefined : { block: "nobody vouches" };
      }),
    );
    const k = await started([who, guard]);
    expect(await failure(() => client(k))).toContain("nobody vouches");
    expect(asked).toBe(1);
    expect(await (await client(k, { principal: agent })).read("who")).toBe("agent a-1");
  });

  test("where a tap blocks and gives no reason, too", async () => {
    const k = await started([who, plug("guard", ({ on }) => on(attach, () => ({ block: "" })))]);
    await expect(client(k)).rejects.toThrow();
  });
});
