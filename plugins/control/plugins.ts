/** /plugins: a directory per plugin of the config, with what the kernel knows of it. */
import { type Base, type Dir, dir, each, type KernelView, leaf, type PluginStatus, Root } from "#core";
import { showConfig } from "./config.ts";

/** Stands for one plugin of the config: always the same object for a name, as the tree wants it. */
interface PluginRef {
  readonly name: string;
}

const PerPlugin = Root.instances<PluginRef>()("plugins/{name}", "plugin");
type At = Base & { readonly plugin: PluginRef };

export function pluginDir(kernel: KernelView): Dir<Base> {
  const refs = new Map<string, PluginRef>();
  const refOf = (name: string): PluginRef => {
    const ref = refs.get(name) ?? { name };
    refs.set(name, ref);
    return ref;
  };
  const rows = (): PluginStatus[] => kernel.status();
  const row = (c: At): PluginStatus | undefined => rows().find(({ name }) => name === c.plugin.name);
  const file = (name: string, doc: string, show: (status: PluginStatus) => string) =>
    leaf<At>(name, { doc, deny: noAgent, rights: "user alone", read: (c) => line(show, row(c)) });

  return dir<Base>(
    "plugins",
    { doc: "The plugins of the config and how they fare." },
    leaf<Base>("idx", {
      doc: "All plugins, a line each, tab-separated: name, state, milliseconds of setup, last error.",
      deny: noAgent,
      rights: "user alone",
      read: () => rows().map(summary).join(""),
    }),
    each(
      PerPlugin,
      {
        doc: "One plugin: how it fares, what went wrong last, its options.",
        list: () => rows().map(({ name }) => refOf(name)),
        get: (_, name) => (rows().some((one) => one.name === name) ? refOf(name) : undefined),
        name: (ref) => ref.name,
      },
      file("status", "State, setup time, taps, mounts, calls in flight and services, key=value a line.", status),
      file("error", "The last error, one line; empty where there was none.", ({ error }) =>
        error ? `${oneLine(error)}\n` : "",
      ),
      file("config", "Its options as JSON; secrets are shown as references or left out.", ({ config }) =>
        showConfig(config),
      ),
      file("doc", "What it is for, in a sentence.", ({ doc }) => `${doc}\n`),
    ),
  );
}

const noAgent = ({ kind }: Base["principal"]): string | undefined =>
  kind === "user" ? undefined : "permission denied";

const line = (show: (status: PluginStatus) => string, status: PluginStatus | undefined): string =>
  status === undefined ? "" : show(status);

const oneLine = (text: string): string => text.replace(/[\t\r\n]+/g, " ");

const summary = ({ name, state, setupMs, error }: PluginStatus): string =>
  `${name}\t${state}\t${Math.round(setupMs)}\t${oneLine(error ?? "")}\n`;

function status({ version, state, setupMs, taps, mounts, waiting, inFlight, provides }: PluginStatus): string {
  const lines: [string, string | number][] = [
    ["state", state],
    ["version", version],
    ["setupMs", Math.round(setupMs)],
    ["provides", provides.join(" ")],
    ["taps", taps.join(" ")],
    ["mounts", mounts.join(" ")],
    ["waiting", waiting.join(" ")],
    ["inFlight", inFlight.join(" ")],
  ];
  return lines.map(([key, value]) => `${key}=${value}\n`).join("");
}
