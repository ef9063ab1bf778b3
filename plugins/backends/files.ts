/** /backends, /models and /usage. */
import { leaf, messageOf, NineError } from "#core";
import type { Registry } from "./registry.ts";

/** One line of printable text: names and reasons come from servers. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const line = (text: string) => text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();

/** Backends begin their errors with their name. */
const failed = (backend: string, error: string) =>
  error.startsWith(`${backend}: `) ? line(error) : `${backend}: ${line(error)}`;

/** `envFault`: what is wrong with {cfg}/env: where a key is missed, that is where people look. */
export const files = (registry: Registry, envFault: () => string | undefined) => [
  leaf("backends", {
    doc: "Backends, one a line: name, `usable` or `-`, and why, between tabs. The one that agents get who name none is marked `* `. Lines behind them say why none can be chosen, and what is wrong with the env file",
    read: async () => {
      const rows = await registry.survey();
      let chosen: { name: string; why: string } | undefined;
      let refused = "";
      try {
        chosen = await registry.choose();
      } catch (error) {
        if (!(error instanceof NineError)) throw error;
        refused = `${line(messageOf(error))}\n`;
      }
      const text = rows.map(({ name, ok, why }) => {
        const mine = chosen?.name === name;
        const reason = mine && chosen && chosen.why !== why ? `chosen by ${chosen.why}; ${why}` : why;
        return `${mine ? "* " : "  "}${name}\t${ok ? "usable" : "-"}\t${line(reason)}\n`;
      });
      const fault = envFault();
      return text.join("") + refused + (fault === undefined ? "" : `${line(fault)}\n`);
    },
  }),
  leaf("usage", {
    doc: "Tokens and cost of all requests since the start, a line for each model and one `total`: name, tokens, USD, between tabs. A cost that is not known is `unknown`",
    deny: ({ kind }) => (kind === "agent" ? "usage: permission denied: agents may not read it" : undefined),
    rights: "user and hooks",
    read: () => registry.usage(),
  }),
  leaf("models", {
    doc: "Models of all usable backends, `backend/model` a line, cached (`invalidate models` in ctl drops it); a backend that failed has one line `backend: why`",
    read: async () => {
      const lists = await registry.models();
      const lines = lists.flatMap(({ backend, models, error }) =>
        error === undefined ? models.map((model) => `${backend}/${line(model)}`) : [failed(backend, error)],
      );
      return lines.map((text) => `${text}\n`).join("");
    },
  }),
];
