/** /session/new: makes a session, and with a part's trigger key (`cwd=`) what the part makes, in one step or not at all. */
import { type Base, type Leaf, leaf, NineError, type Principal } from "#core";
import { checkVariable } from "./env.ts";
import { parseKeys } from "./keys.ts";
import type { Registry } from "./sessions.ts";
import type { Session, SessionPart } from "./types.ts";

const own = ["name", "env."];

export function newSession(sessions: Registry): Leaf<Base> {
  const keys = () => [...new Set([...own, ...sessions.parts.flatMap((part) => part.keys)])];

  const make = async (c: Base, text: string): Promise<string> => {
    const values = parseKeys(text, keys(), "session/new");
    if (c.principal.kind === "agent" && Object.keys(variables(values)).length > 0)
      throw new NineError("session/new: permission denied: agents may not set variables");
    const wanted = sessions.parts.filter((part) => isWanted(part, values));
    const name = values.get("name");
    const session = sessions.create({
      ...(name !== undefined && { name }),
      ...creatorOf(c.principal),
      env: variables(values),
    });
    try {
      await sessions.save(session);
      let reply = `id=${session.id}\nname=${session.name}\n`;
      for (const part of wanted) reply += await part.create(session, valuesOf(part, values), c.principal);
      return reply;
    } catch (error) {
      await sessions.kill(session);
      throw error;
    }
  };

  return leaf<Base>("new", {
    doc:
      "Makes a session: write name=NAME env.NAME=VALUE, blank separated or a pair a line, then read its id= and name=. " +
      "All keys may be left out. With cwd= (and backend= model= agent=) its first agent is made too. " +
      "Read before a write it gives the keys.",
    mode: 0o666,
    max: 256 * 1024,
    rights:
      "what an agent makes is its child: cwd has to lie in the agent's, what it costs counts as the agent's, and it sets no variables",
    rdwr: (c, body) =>
      body === undefined
        ? keys()
            .map((key) => (key.endsWith(".") ? `${key}NAME=\n` : `${key}=\n`))
            .join("")
        : make(c, new TextDecoder().decode(body)),
  });
}

function creatorOf({ kind, session, agent }: Principal): { creator?: Session["creator"] } {
  if (kind !== "agent") return {};
  if (session === undefined || agent === undefined) throw new NineError("session/new: permission denied");
  return { creator: { session, agent } };
}

/** Whether the request asks the part for something. Throws where its trigger is missing. */
function isWanted(part: SessionPart, values: ReadonlyMap<string, string>): boolean {
  if (values.has(part.trigger)) return true;
  const stray = [...valuesOf(part, values).keys()][0];
  if (stray !== undefined) throw new NineError(`session/new: key ${JSON.stringify(stray)} needs ${part.trigger}= too`);
  return false;
}

/** `name` is the session's: what the part makes gets a name of its own. */
const valuesOf = (part: SessionPart, values: ReadonlyMap<string, string>): Map<string, string> =>
  new Map([...values].filter(([key]) => part.keys.includes(key) && !own.includes(key)));

function variables(values: ReadonlyMap<string, string>): Record<string, string> {
  const env: [string, string][] = [];
  for (const [key, value] of values) if (key.startsWith("env.")) env.push([key.slice(4), value]);
  for (const [name, value] of env) checkVariable(name, value, "session/new");
  return Object.fromEntries(env);
}
