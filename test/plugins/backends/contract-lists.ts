/** Lists of models, and windows. */
import { expect } from "vitest";
import { BackendError } from "../../../plugins/backends/types.ts";
import { ask, type Rig } from "./contract-kit.ts";

export function lists({ check, setup }: Rig): void {
  check("models are sorted, and once each", async () => {
    const { fake, backend } = await setup();
    fake.models([["zeta"], ["alpha"], ["zeta"]]);
    expect(await backend.models()).toEqual(["alpha", "zeta"]);
  });

  for (const [what, answer] of [
    ["401", { status: 401 }],
    ["404", { status: 404 }],
    ["HTML with 200", { page: "<html><head><title>hello</title></head></html>" }],
  ] as const)
    check(`H-109: a list of models that answers ${what} is a BackendError, and a turn works`, async () => {
      const { fake, backend } = await setup();
      fake.models(answer);
      await expect(backend.models()).rejects.toBeInstanceOf(BackendError);
      await backend.contextLength();
      fake.say({ text: "ok" });
      expect((await ask(backend)).text).toBe("ok");
    });

  check("H-109: a list of models that hangs can be left", async () => {
    const { fake, backend } = await setup();
    fake.models("stall");
    const stop = new AbortController();
    const reason = new Error("long enough");
    setTimeout(() => stop.abort(reason), 30);
    await expect(backend.models(stop.signal)).rejects.toBeDefined();
  });

  for (const [said, tokens] of [
    [131_072, 131_072],
    ["128000", 128_000],
  ] as const)
    check(`H-108: a context length of ${JSON.stringify(said)}`, async () => {
      const { fake, backend } = await setup();
      fake.models([[backend.model, said]]);
      expect(await backend.contextLength()).toBe(tokens);
    });

  for (const said of [0, -1, null, "many"])
    check(`H-108: a context length of ${JSON.stringify(said)} is not believed`, async () => {
      const { fake, backend } = await setup();
      fake.models([[backend.model, said]]);
      const tokens = await backend.contextLength();
      expect(tokens === undefined || tokens > 1_000).toBe(true);
    });
}
