/** The backend behind an agent that was restored: asked for again, and stood for while it can not be had. */
import { messageOf } from "#core";
import { type Backend, BackendError } from "#plugins/backends";
import { foldersOf, plainPrompt } from "./grow.ts";
import type { Runtime } from "./runtime.ts";

/** Takes config and backend anew where they can be had; the agent is never lost for want of them. */
export async function reconnect(rt: Runtime): Promise<void> {
  try {
    const config = rt.deps.configs.load(rt.agent);
    // It may be another than it was.
    plainPrompt("config", config, foldersOf(rt));
    rt.config = config;
    rt.sandbox = config.sandbox ?? "";
  } catch (error) {
    rt.deps.log.warn("agent config can not be used", { agent: rt.id, config: rt.agent, error: messageOf(error) });
  }
  const stand = rt.provider;
  let provider: Backend;
  try {
    provider = await rt.deps.backends.create({ backend: rt.backend, model: rt.model });
  } catch (error) {
    provider = unavailable(rt, messageOf(error));
  }
  // Somebody may have chosen another backend or model meanwhile.
  if (rt.provider !== stand) return;
  if (provider.model !== rt.model && rt.model !== "") provider.setModel(rt.model);
  rt.provider = provider;
}

/** Stands for a backend that can not be had: each request says why. */
export const unavailable = ({ backend, model }: { backend: string; model: string }, why: string): MissingBackend => ({
  name: backend,
  model,
  missing: true,
  setModel(to) {
    this.model = to;
  },
  // biome-ignore lint/correctness/useYield: it fails before the first event
  async *chatStream() {
    throw new BackendError("badRequest", why);
  },
  contextLength: async () => undefined,
  models: async () => {
    throw new BackendError("badRequest", why);
  },
});

interface MissingBackend extends Backend {
  model: string;
  missing: true;
}

export const isMissing = (backend: Backend): boolean => "missing" in backend;
