/** What the model is told of processes in the background, each end exactly once: also of those that ended with the daemon. */
import { interruptNote } from "#plugins/toolsrv";
import type { Runtime } from "./runtime.ts";

export interface News {
  texts: string[];
  /** Numbers of the processes whose end they tell, if any; they belong into the line of the message that carries the texts. */
  ended: string[] | undefined;
}

/** Whoever takes it must deliver it. */
export function takeNews({ deps: { runner }, session, id, background }: Runtime): News {
  const texts = runner.news(session.id, id);
  const runs = new Set(runner.processes(session.id, id).flatMap((one) => (one.end ? [] : [one.id])));
  const ended = background.filter((one) => one.lost || !runs.has(one.id));
  for (const { id, title, lost } of ended)
    if (lost)
      texts.push(
        interruptNote(`process ${id} (${title}) ended with the server; what it wrote since the last look is lost`),
      );
  return { texts, ended: ended.length > 0 ? ended.map((one) => one.id) : undefined };
}
