/** A backend as the registry gives it out: its requests are priced and counted, and its word on its window is checked. */
import type { Backend, StreamEvent, Usage } from "#plugins/backends";
import { explainer, type Known } from "./explain.ts";
import type { Ledger } from "./ledger.ts";
import { costOf, plainName, rowOf } from "./prices.ts";
import type { Tables } from "./tables.ts";

export interface Service extends Known {
  /** As they are now. */
  tables: () => Promise<Tables>;
  ledger: Ledger;
}

/** Milliseconds that a backend may take to tell its window. */
const patience = 6_000;

export async function served(backend: Backend, { tables, ledger, ...known }: Service): Promise<Backend> {
  let table = await tables();
  const explain = explainer(backend, known);

  /** A cost that the provider told stands. */
  function priced(usage: Usage): Usage {
    if (usage.costUSD !== undefined) return usage;
    const cost = table.isFree(backend.name) ? 0 : costOf(table.models, backend.model, usage);
    return cost === undefined ? usage : { ...usage, costUSD: cost };
  }

  function counted(next: IteratorResult<StreamEvent>): IteratorResult<StreamEvent> {
    if (next.done || next.value.type !== "usage") return next;
    const usage = priced(next.value.usage);
    ledger.add(backend.name, backend.model, usage);
    return { done: false, value: { type: "usage", usage } };
  }

  return {
    get name() {
      return backend.name;
    },
    get model() {
      return backend.model;
    },
    setModel: (model) => backend.setModel(model),
    /** The user's file, the provider, the package's file. */
    async contextLength() {
      table = await tables().catch(() => table);
      const row = rowOf(table.models, backend.model);
      if (row?.context && table.models.own.has(plainName(backend.model))) return row.context;
      return sensible(await soon(backend.contextLength())) ?? row?.context;
    },
    models: (signal) => backend.models(signal),
    chatStream: (...request) => ({
      // No generator in between: each event would cost its promises twice.
      [Symbol.asyncIterator]() {
        const events = backend.chatStream(...request)[Symbol.asyncIterator]();
        return {
          next: () => events.next().then(counted, explain),
          return: () => events.return?.() ?? Promise.resolve({ done: true, value: undefined as never }),
        } satisfies AsyncIterator<StreamEvent>;
      },
    }),
  };
}

/** A third party's backend may hang, throw, or tell nonsense. */
function soon(asked: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patience);
    asked.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer));
  });
}

function sensible(tokens: unknown): number | undefined {
  const number = typeof tokens === "string" ? Number(tokens) : tokens;
  return Number.isInteger(number) && (number as number) > 0 ? (number as number) : undefined;
}
