/** The registry of backends: who is there, which one is used, with which model. */
import { messageOf, NineError, OllieError } from "#core";
import type { Backend, BackendFactory, Backends, Choice } from "#plugins/backends";
import { isCredential } from "#plugins/sessions";
import { nearest } from "./explain.ts";
import { ledger } from "./ledger.ts";
import { modelLists } from "./lists.ts";
import { rowOf } from "./prices.ts";
import { served } from "./served.ts";
import { tables } from "./tables.ts";

/** Where nothing names a backend, the first of these that can be used; those that are not here come last. */
const preferred = ["anthropic", "openai", "openrouter", "gemini", "ollama", "script"];

export interface RegistryOptions {
  /** The user's config: below OLLIE_BACKEND and OLLIE_MODEL. */
  backend?: string | undefined;
  model?: string | undefined;
  env?: NodeJS.ProcessEnv;
  /** Called before the environment is looked at: loads the env file anew. */
  refresh?: () => void;
  /** Told what is wrong with the user's models.yaml. */
  warn?: (text: string) => void;
  /** Milliseconds that one backend may take to list its models. Default 4,000. */
  limit?: number;
}

/** What files.ts shows beside the service. */
export interface Registry extends Backends {
  /** Every backend with what it says of itself, in the order in which they are preferred. */
  survey(): Promise<{ name: string; ok: boolean; why: string }[]>;
  /** What all requests used, a line for each model and the total. */
  usage(): string;
}

export function registry(options: RegistryOptions = {}): Registry {
  const env = options.env ?? process.env;
  const factories = new Map<string, BackendFactory>();
  const lists = modelLists(options.limit ?? 4_000);
  const known = tables(env, options.warn ?? (() => {}));
  const used = ledger();

  const rank = (name: string) => (preferred.indexOf(name) + preferred.length + 1) % (preferred.length + 1);
  const byPreference = () => [...factories.values()].sort((a, b) => rank(a.name) - rank(b.name));

  function find(name: string, source: string): BackendFactory {
    const found = factories.get(name) ?? [...factories.values()].find((f) => f.aliases?.includes(name));
    if (found) return found;
    throw new NineError(`${source}: unknown backend ${JSON.stringify(name.slice(0, 40))} (known: ${all()})`);
  }
  const all = () => [...factories.keys()].sort().join(" ") || "none";

  async function choose(): Promise<Choice> {
    options.refresh?.();
    if (env.OLLIE_BACKEND) return { name: find(env.OLLIE_BACKEND, "OLLIE_BACKEND").name, why: "OLLIE_BACKEND" };
    if (options.backend) return { name: find(options.backend, "config of plugin backends").name, why: "the config" };
    for (const factory of byPreference()) {
      const { ok, why } = await ask(factory);
      if (ok) return { name: factory.name, why };
    }
    throw new NineError(`backends: none can be used (known: ${all()}); name one with OLLIE_BACKEND`);
  }

  const list = (factory: BackendFactory) =>
    lists.get(factory.name, async (signal) => (await factory.create({})).models(signal));

  async function modelOf(factory: BackendFactory, asked: string | undefined): Promise<string> {
    const fromConfig = options.backend === undefined || options.backend === factory.name ? options.model : undefined;
    const model =
      asked || env.OLLIE_MODEL || fromConfig || (factory.defaultModel ?? (await known()).defaultOf(factory.name));
    if (model) return model;
    const { models } = await list(factory);
    const some = models.length > 0 ? `: it has ${nearest(models, "").join(", ")}` : "";
    throw new NineError(`backend ${factory.name}: no model is named (set model= or OLLIE_MODEL)${some}`);
  }

  return {
    register(factory) {
      for (const name of [factory.name, ...(factory.aliases ?? [])]) {
        const taken = [...factories.values()].some((f) => f.name === name || f.aliases?.includes(name));
        if (taken) throw new OllieError("E_CONFLICT", `backends: ${name} is already registered`);
      }
      const shown = factory.credentials.find((name) => !isCredential(name));
      if (shown !== undefined)
        throw new OllieError(
          "E_CONFIG",
          `backend ${factory.name}: credential ${shown} would reach tools (its name must end in _KEY, _TOKEN or _SECRET)`,
        );
      factories.set(factory.name, factory);
      return () => {
        if (factories.get(factory.name) === factory) factories.delete(factory.name);
        lists.drop(factory.name);
      };
    },
    names: () => [...factories.keys()].sort(),
    choose,
    async create({ backend, model, check }) {
      options.refresh?.();
      const factory = backend ? find(backend, "backend") : find((await choose()).name, "backend");
      const why = check && model ? await factory.refuses?.(model) : undefined;
      if (why !== undefined) throw new NineError(why);
      const made: Backend = await factory.create({ model: await modelOf(factory, model) });
      const { credentials } = factory;
      return served(made, { list: () => list(factory), credentials, tables: known, ledger: used });
    },
    async models(backend) {
      options.refresh?.();
      if (backend) return [await list(find(backend, "backend"))];
      const usable = await Promise.all(byPreference().map(async (f) => ((await ask(f)).ok ? [f] : [])));
      return Promise.all(usable.flat().map(list));
    },
    async about(backend, model) {
      const table = await known();
      const { context, input, output } = rowOf(table.models, model) ?? {};
      const price = table.isFree(backend) || /:free$/i.test(model) ? { input: 0, output: 0 } : { input, output };
      const facts = { context, ...price };
      return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
    },
    invalidate: () => lists.drop(),
    usage: () => used.text(),
    async survey() {
      options.refresh?.();
      return Promise.all(byPreference().map(async (f) => ({ name: f.name, ...(await ask(f)) })));
    },
  };
}

/** A third party's `available` may break its promise not to throw. */
async function ask(factory: BackendFactory): Promise<{ ok: boolean; why: string }> {
  try {
    return await factory.available();
  } catch (error) {
    return { ok: false, why: messageOf(error) };
  }
}
