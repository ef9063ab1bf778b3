/**
 * kill -9 at moments that a seed decides, again and again over the same files. After each start everything that was
 * acknowledged has to be there: prompts in the history or the queue, and every tool result that the model ever saw.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "#core/client";
import { call, type FakeRequest, openaiFake, type Part, text } from "../fakes/openai.ts";
import { type Daemon, daemon, leftovers, type Place, place, seeded } from "./daemon.ts";

export interface Kills {
  rounds: number;
  /** Acknowledged prompts. */
  prompts: number;
  /** Tool results that reached the model. */
  results: number;
  /** Calls that a kill cut off. */
  interrupted: number;
}

interface Message {
  role: string;
  content: string;
  toolCallId?: string;
}

/** What one session has to hold. */
interface Owed {
  readonly name: string;
  readonly prompts: string[];
}

/** Rounds on one session before the next one is made: the history stays short enough to be looked at each time. */
const perSession = 10;

/** Throws with what was lost. `note` gets a line now and then. */
export async function kills(rounds: number, seed: number, note: (line: string) => void = () => {}): Promise<Kills> {
  const random = seeded(seed);
  const seen = new Map<string, string>();
  const fake = await openaiFake();
  fake.always((request) => {
    for (const { role, tool_call_id, content } of request.body.messages)
      if (role === "tool") seen.set(tool_call_id, content);
    return reply(request, random);
  });
  const at = place(fake.env);
  const sessions: Owed[] = [];
  const counts: Kills = { rounds, prompts: 0, results: 0, interrupted: 0 };
  let running: Daemon | undefined;
  try {
    for (let round = 0; round < rounds; round++) {
      running = await daemon(at);
      if (round % perSession === 0) sessions.push(await newSession(running.client, at, `s${sessions.length}`));
      const owed = sessions.at(-1) as Owed;
      await check(running.client, owed, seen);
      const writing = prompts(running.client, owed, round, 1 + random(3));
      // Half of the kills wait for an acknowledgement: however slow the machine is, there is something to lose.
      if (round % 2 === 0) await writing;
      const end = sleep(random(450)).then(() => running?.kill());
      await writing;
      await end;
      const left = await leftovers(at);
      if (left.length > 0) throw new Error(`processes outlive the daemon: ${left.join(" ")}`);
      complain(fake.complaints, round);
      if (round % 20 === 19) note(`${round + 1} kills`);
    }
    running = await daemon(at);
    for (const owed of sessions) {
      const agent = agentOf(owed);
      await running.client.write(`${agent}/prompt`, `${owed.name} last`);
      await idle(running.client, agent);
      const context = await check(running.client, owed, seen);
      counts.interrupted += context.filter(({ content }) => content.startsWith("interrupted:")).length;
      if (context.at(-1)?.role !== "assistant") throw new Error(`${owed.name} did not go on after its last kill`);
    }
    complain(fake.complaints, rounds);
    counts.prompts = sessions.reduce((sum, owed) => sum + owed.prompts.length, 0);
    counts.results = seen.size;
    return counts;
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    await running?.kill();
    await fake.close();
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  }
}

/** Up to three calls at once and up to three rounds of them, then a text. Ids begin with the session's name. */
function reply({ body }: FakeRequest, random: (below: number) => number): Part[][] {
  const lastUser = body.messages.findLastIndex(({ role }: Message) => role === "user");
  const results = body.messages.length - 1 - lastUser;
  const [owner] = body.messages[lastUser].content.split(" ");
  if (results > 0 && (results > 4 || random(2) === 0)) return [text("done")];
  const calls = Array.from({ length: 1 + random(3) }, (_, index) =>
    call(
      "shell",
      { command: `sleep 0.0${random(9)}; echo ${random(1e9)}` },
      { id: `${owner}_${body.messages.length}_${index}_${random(1e9)}`, index },
    ),
  );
  return random(4) === 0 ? [text("nothing to do")] : [text("I look."), ...calls];
}

const agentOf = ({ name }: Owed) => `session/${name}/agent/a`;

async function newSession(client: Client, { work }: Place, name: string): Promise<Owed> {
  await client.rdwr("session/new", `name=${name}`);
  await client.rdwr(`session/${name}/agent/new`, `name=a cwd=${work}`);
  return { name, prompts: [] };
}

/** Writes prompts until the daemon is gone; one is owed from its acknowledgement on. */
async function prompts(client: Client, owed: Owed, round: number, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const prompt = `${owed.name} prompt ${round}.${n}`;
    try {
      await client.write(`${agentOf(owed)}/prompt`, prompt);
    } catch {
      return;
    }
    owed.prompts.push(prompt);
  }
}

/** The agent's messages; throws where something that is owed is not there. */
async function check(client: Client, owed: Owed, seen: ReadonlyMap<string, string>): Promise<Message[]> {
  const agent = agentOf(owed);
  const context = (await client.read(`${agent}/context`)).toString();
  const messages = context.split("\n").flatMap((line): Message[] => (line === "" ? [] : [JSON.parse(line)]));
  const queue = (await client.read(`${agent}/queue`)).toString();
  const users = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const waiting = queue.split("\n").map((line) => line.split("\t")[2]);
  for (const prompt of owed.prompts) {
    const times = [...users, ...waiting].filter((one) => one === prompt).length;
    if (times !== 1) throw new Error(`${owed.name}: ${prompt} is there ${times} times`);
  }
  for (const { role, toolCallId = "", content } of messages)
    if (role === "tool" && seen.has(toolCallId) && seen.get(toolCallId) !== content)
      throw new Error(`${owed.name}: result ${toolCallId} was ${seen.get(toolCallId)}, is ${content}`);
  const kept = new Set(messages.map(({ toolCallId }) => toolCallId));
  for (const id of seen.keys())
    if (id.startsWith(`${owed.name}_`) && !kept.has(id)) throw new Error(`${owed.name}: result ${id} is lost`);
  return messages;
}

function complain(complaints: readonly string[], round: number): void {
  if (complaints.length > 0) throw new Error(`round ${round}: the provider refused: ${complaints.join("; ")}`);
}

async function idle(client: Client, agent: string): Promise<void> {
  for (let state = "thinking"; state !== "idle"; )
    state = (await client.rdwr(`${agent}/statewait`, state)).toString().trim();
}
