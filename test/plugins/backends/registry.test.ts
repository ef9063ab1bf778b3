/** Which backend is used, with which model. */
import { expect, test } from "vitest";
import { anthropicBackend } from "../../../plugins/backend-anthropic/factory.ts";
import { copilotBackend } from "../../../plugins/backend-copilot/index.ts";
import { geminiBackend } from "../../../plugins/backend-gemini/index.ts";
import { kiroBackend } from "../../../plugins/backend-kiro/index.ts";
import { ollamaBackend } from "../../../plugins/backend-ollama/index.ts";
import { openaiBackend, openrouterBackend } from "../../../plugins/backend-openai/factory.ts";
import { modelLists } from "../../../plugins/backends/lists.ts";
import { type RegistryOptions, registry } from "../../../plugins/backends/registry.ts";
import { type Backend, BackendError, type BackendFactory } from "../../../plugins/backends/types.ts";
import { toolEnv } from "../../../plugins/toolsrv/env.ts";

interface Fake extends Partial<BackendFactory> {
  ok?: boolean;
  why?: string;
  list?: (signal?: AbortSignal) => Promise<string[]>;
  fails?: BackendError;
}

function fake(name: string, { ok = true, why = `${name} is there`, list, fails, ...rest }: Fake = {}): BackendFactory {
  return {
    name,
    credentials: [],
    defaultModel: `${name}-default`,
    available: async () => ({ ok, why }),
    create: ({ model = "" }): Backend => {
      let now = model;
      return {
        name,
        get model() {
          return now;
        },
        setModel: (next) => {
          now = next;
        },
        async *chatStream() {
          if (fails) throw fails;
          yield { type: "text", text: "ok" };
          yield { type: "done", stop: "stop" };
        },
        contextLength: async () => undefined,
        models: list ?? (async () => [`${name}-1`]),
      };
    },
    ...rest,
  };
}

function registryOf(factories: BackendFactory[], options: RegistryOptions = {}) {
  const made = registry({ env: {}, ...options });
  for (const factory of factories) made.register(factory);
  return made;
}

test("the first usable one in the order of preference is chosen, and says why", async () => {
  const all = (usable: string[]) =>
    registryOf(
      ["script", "mine", "ollama", "gemini", "openrouter", "openai", "anthropic"].map((n) =>
        fake(n, { ok: usable.includes(n) }),
      ),
    );
  const order = ["anthropic", "openai", "openrouter", "gemini", "ollama", "script", "mine"];
  for (let n = 0; n < order.length; n++) {
    const name = order[n] as string;
    expect(await all(order.slice(n)).choose()).toEqual({ name, why: `${name} is there` });
  }
  await expect(all([]).choose()).rejects.toThrow(
    "backends: none can be used (known: anthropic gemini mine ollama openai openrouter script); name one with OLLIE_BACKEND",
  );
});

test("OLLIE_BACKEND wins over the config, and the config over the rest", async () => {
  const factories = [fake("anthropic"), fake("openai"), fake("kiro", { ok: false, aliases: ["codewhisperer"] })];
  expect(await registryOf(factories, { backend: "openai" }).choose()).toEqual({ name: "openai", why: "the config" });
  const env = { OLLIE_BACKEND: "codewhisperer" };
  expect(await registryOf(factories, { backend: "openai", env }).choose()).toEqual({
    name: "kiro",
    why: "OLLIE_BACKEND",
  });
});

test("an unknown backend is refused with those that are known", async () => {
  const factories = [fake("script"), fake("openai")];
  const wrong = registryOf(factories, { env: { OLLIE_BACKEND: "opnai" } });
  await expect(wrong.choose()).rejects.toThrow('OLLIE_BACKEND: unknown backend "opnai" (known: openai script)');
  await expect(registryOf(factories).create({ backend: "x" })).rejects.toThrow(
    'backend: unknown backend "x" (known: openai script)',
  );
});

test("a backend whose available throws is not usable", async () => {
  const broken = fake("openai", { available: () => Promise.reject(new Error("boom")) });
  const made = registryOf([broken, fake("script")]);
  expect((await made.choose()).name).toBe("script");
  expect((await made.survey())[0]).toEqual({ name: "openai", ok: false, why: "boom" });
});

test("names and aliases are registered once, and given back", () => {
  const made = registryOf([fake("kiro", { aliases: ["codewhisperer"] })]);
  expect(() => made.register(fake("codewhisperer"))).toThrow("backends: codewhisperer is already registered");
  const undo = made.register(fake("script"));
  expect(made.names()).toEqual(["kiro", "script"]);
  undo();
  expect(made.names()).toEqual(["kiro"]);
});

test("H-061: a credential whose name would let it pass to tools is refused, those of the stock backends are not", () => {
  const made = registryOf([]);
  expect(() => made.register(fake("acme", { credentials: ["ACME_API_KEY", "ACME_PAT"] }))).toThrow(
    "backend acme: credential ACME_PAT would reach tools (its name must end in _KEY, _TOKEN or _SECRET)",
  );
  expect(made.names()).toEqual([]);
  const stock = [anthropicBackend(), openaiBackend(), openrouterBackend(), geminiBackend(), ollamaBackend()];
  for (const factory of [...stock, copilotBackend(), kiroBackend()]) {
    made.register(factory);
    expect(factory.credentials.length).toBeGreaterThan(0);
    expect(toolEnv(Object.fromEntries(factory.credentials.map((name) => [name, "secret"])))).toEqual({});
  }
});

test("model: asked for, OLLIE_MODEL, the config, the default, the table", async () => {
  const factories = () => [fake("script"), fake("openai", { defaultModel: undefined })];
  const model = async (options: RegistryOptions, asked: { backend?: string; model?: string } = {}) =>
    (await registryOf(factories(), options).create({ backend: "script", ...asked })).model;
  const env = { OLLIE_MODEL: "from-env" };
  expect(await model({ env, model: "from-config" }, { model: "asked" })).toBe("asked");
  expect(await model({ env, model: "from-config" })).toBe("from-env");
  expect(await model({ model: "from-config" })).toBe("from-config");
  expect(await model({ model: "from-config", backend: "openai" })).toBe("script-default");
  expect(await model({})).toBe("script-default");
  expect(await model({}, { backend: "openai" })).toMatch(/^gpt-/);
});

test("no model at all is one sentence that names some", async () => {
  const made = registryOf([
    fake("own", { defaultModel: "", list: async () => ["a", "b", "c", "d"] }),
    fake("none", { defaultModel: undefined, list: async () => [] }),
  ]);
  await expect(made.create({ backend: "own" })).rejects.toThrow(
    "backend own: no model is named (set model= or OLLIE_MODEL): it has a, b, c",
  );
  await expect(made.create({ backend: "none" })).rejects.toThrow(
    "backend none: no model is named (set model= or OLLIE_MODEL)",
  );
});

async function say(backend: Backend): Promise<string[]> {
  const types: string[] = [];
  for await (const event of backend.chatStream([], [], {}, new AbortController().signal)) types.push(event.type);
  return types;
}

test("a model that the provider does not know is answered with three of its list", async () => {
  const fails = new BackendError("badRequest", "openai: 404 The model `gpt-5.9` does not exist", { status: 404 });
  const list = async () => ["ada", "gpt-4", "gpt-5", "gpt-5.4", "whisper"];
  const made = registryOf([fake("openai", { fails, list })]);
  const backend = await made.create({ backend: "openai", model: "gpt-5.9" });
  await expect(say(backend)).rejects.toMatchObject({
    kind: "badRequest",
    status: 404,
    message:
      'openai does not know the model "gpt-5.9": it has gpt-5.4, gpt-5, gpt-4 and 2 more (openai: 404 The model `gpt-5.9` does not exist)',
  });
  backend.setModel("gpt-4");
  await expect(say(backend)).rejects.toBe(fails);
});

test("a key that is refused names the variables that hold it, once", async () => {
  const refused = new BackendError("auth", "openai: 401 Incorrect API key provided: [key]", { status: 401 });
  const missing = new BackendError("auth", "openai: OLLIE_X_KEY is not set");
  const said = async (fails: BackendError) => {
    const factory = { ...fake("openai", { fails }), credentials: ["OLLIE_X_KEY", "X_API_KEY", "X_ADMIN_KEY"] };
    return say(await registryOf([factory]).create({ backend: "openai", model: "m" })).catch((error) => error);
  };
  expect(await said(refused)).toMatchObject({
    kind: "auth",
    status: 401,
    message: `${refused.message} (check OLLIE_X_KEY or X_API_KEY, see docs/backends.md)`,
  });
  expect(await said(missing)).toBe(missing);
});

test("other failures, and those whose list fails too, stay as they are", async () => {
  const overflow = new BackendError("overflow", "model is too small", { status: 404 });
  const lost = new BackendError("badRequest", "not found", { status: 404 });
  const list = () => Promise.reject(new Error("no list"));
  for (const fails of [overflow, lost]) {
    const backend = await registryOf([fake("x", { fails, list })]).create({ backend: "x" });
    await expect(say(backend)).rejects.toBe(fails);
  }
  expect(await say(await registryOf([fake("x")]).create({}))).toEqual(["text", "done"]);
});

test("H-109: one backend of three that fails, and one that hangs, leave the others' models", async () => {
  const hang = () => new Promise<string[]>(() => {});
  const made = registryOf(
    [
      fake("openai"),
      fake("ollama", { list: () => Promise.reject(new Error("connection refused")) }),
      fake("gemini", { list: hang }),
      fake("kiro", { ok: false }),
    ],
    { limit: 50 },
  );
  expect(await made.models()).toEqual([
    { backend: "openai", models: ["openai-1"] },
    { backend: "gemini", models: [], error: "no list of models came in 0.05 s" },
    { backend: "ollama", models: [], error: "connection refused" },
  ]);
});

test("H-109: lists are cached and shared; failures only for a moment; invalidate drops them", async () => {
  let clock = 0;
  let asked = 0;
  let fails = false;
  const lists = modelLists(1000, () => clock);
  const get = () =>
    lists.get("x", async () => {
      asked++;
      if (fails) throw new Error("down");
      return ["m"];
    });
  expect(await Promise.all([get(), get()])).toEqual(Array(2).fill({ backend: "x", models: ["m"] }));
  clock += 60_000;
  await get();
  expect(asked).toBe(1);
  fails = true;
  lists.drop();
  expect((await get()).error).toBe("down");
  await get();
  expect(asked).toBe(2);
  clock += 11_000;
  fails = false;
  expect((await get()).models).toEqual(["m"]);
  expect(asked).toBe(3);
});

test("the environment is refreshed before it is looked at", async () => {
  const env: Record<string, string> = {};
  const made = registryOf([fake("openai"), fake("script")], {
    env,
    refresh: () => {
      env.OLLIE_BACKEND = "script";
    },
  });
  expect((await made.choose()).name).toBe("script");
});
