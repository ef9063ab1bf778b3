/** `ctl`: the verbs of an agent, for those who may use them. */
import { NineError } from "#core";
import { ctl, type Verb, type Verbs } from "#plugins/control";
import { type AgentAt, who } from "./rights.ts";
import type { Roster } from "./roster.ts";
import { runtimeOf } from "./runtime.ts";
import { mustRest } from "./settings.ts";
import { entries } from "./verbs.ts";

/** The `rdwr` handler. */
export function agentCtl(roster: Roster): (c: AgentAt, body?: Uint8Array) => Promise<string> {
  const verbs: Verbs<AgentAt> = Object.fromEntries(
    Object.entries(entries(roster)).map(([name, { args, doc, agents = [], rest, run }]): [string, Verb<AgentAt>] => [
      name,
      {
        args,
        doc,
        check(arg, c) {
          const rt = runtimeOf(c.agent);
          const is = who(c.principal, rt);
          if (is !== "user" && !agents.includes(is))
            throw new NineError(`ctl: permission denied: ${name} is not for this agent`);
          if (rest && (arg !== "" || args === "")) mustRest(rt);
        },
        run: (c, arg) => run(runtimeOf(c.agent), arg, c),
      },
    ]),
  );
  return ctl("ctl", verbs);
}
