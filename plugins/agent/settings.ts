/** Changes of model, backend and cwd: shared by ctl and cfg. */
import { NineError } from "#core";
import { checkCwd } from "./checks.ts";
import { record } from "./lines.ts";
import { alone } from "./loop.ts";
import type { Runtime } from "./runtime.ts";

/** Works at once, from the next request on. The name is not checked: a provider may know more than it lists. */
export function setModel(rt: Runtime, model: string): Promise<void> {
  rt.provider.setModel(model);
  return record(rt, { kind: "set", values: { model } });
}

export function setCwd(rt: Runtime, what: string, given: string): Promise<void> {
  const written = record(rt, { kind: "set", values: { cwd: checkCwd(what, given) } });
  rt.watch.set("cwd", rt.cwd);
  return written;
}

/** A failure leaves the old backend. Throws NineError. */
export async function setBackend(rt: Runtime, name: string): Promise<void> {
  await alone(rt, "connecting", async (signal) => {
    const provider = await rt.deps.backends.create({ backend: name });
    if (signal.aborted) return;
    rt.provider = provider;
    await record(rt, { kind: "set", values: { backend: rt.provider.name, model: rt.provider.model } });
  });
}

/** Throws NineError where a turn is under way. */
export function mustRest(rt: Runtime): void {
  if (rt.running) throw new NineError("agent is running (stop it first)");
}
