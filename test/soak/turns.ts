/** Turn after turn against a fast fake: whether memory, descriptors and children of the daemon stay what they were. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "#core/client";
import { call, type FakeRequest, openaiFake, type Part, text } from "../fakes/openai.ts";
import { daemon, type Look, leftovers, look, type Place, place } from "./daemon.ts";

export interface Turns {
  turns: number;
  seconds: number;
  /** Medians over the second fifth of the turns, and over the last one. */
  before: Look;
  after: Look;
  /** The daemon's warnings of listeners that pile up. */
  warnings: number;
}

/** Agents that work at the same time. */
const lanes = 4;
/** Turns of a lane until its history is cleared, and until its session is killed and made anew. */
const perHistory = 25;
const perSession = 100;

export async function turns(count: number, note: (line: string) => void = () => {}): Promise<Turns> {
  const fake = await openaiFake();
  fake.always(reply);
  const at = place(fake.env);
  const running = await daemon(at);
  const began = performance.now();
  const looks: Look[] = [];
  let done = 0;
  try {
    const lane = async (lane: number) => {
      const client = await running.connect();
      let agent = "";
      for (let n = 0; done < count; n++) {
        if (n % perSession === 0) agent = await session(client, at, `l${lane}`, n > 0);
        else if (n % perHistory === 0) await client.rdwr(`${agent}/ctl`, "clear");
        await turn(client, agent, n);
        done++;
        // what the fake keeps of each request is no part of the measurement
        fake.requests.length = 0;
        if (done % Math.ceil(count / 50) === 0) looks.push(look(running.pid));
        if (done % 1_000 === 0) note(`${done} turns`);
      }
      await client.close();
    };
    await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)));
    if (fake.complaints.length > 0) throw new Error(`the provider refused: ${fake.complaints[0]}`);
    const seconds = (performance.now() - began) / 1000;
    const fifth = Math.floor(looks.length / 5);
    const warnings = running.said().split("MaxListenersExceeded").length - 1;
    const before = median(looks.slice(fifth, 2 * fifth));
    const after = { ...median(looks.slice(-fifth)), zombies: await zombiesOf(running.pid) };
    return { turns: done, seconds, before, after, warnings };
  } finally {
    await running.kill();
    await fake.close();
    for (const pid of await leftovers(at)) process.kill(pid, "SIGKILL");
    at.remove();
  }
}

/** Those that stay: the orphans of a session that was just ended are waited for after a second. */
async function zombiesOf(pid: number): Promise<number> {
  for (let waited = 0; waited < 8_000 && look(pid).zombies > 0; waited += 100) await sleep(100);
  return look(pid).zombies;
}

/** Every second turn runs a tool. */
function reply({ body }: FakeRequest, n: number): Part[][] {
  const { role, content } = body.messages.at(-1);
  if (role === "user" && /[02468]$/.test(content)) return [text("I look."), call("shell", { command: `echo ${n}` })];
  return [text(`answer ${n} ${"word ".repeat(50)}`, 50)];
}

async function session(client: Client, { work }: Place, name: string, again: boolean): Promise<string> {
  if (again) await client.rdwr(`session/${name}/ctl`, "kill");
  await client.rdwr("session/new", `name=${name}`);
  await client.rdwr(`session/${name}/agent/new`, `name=a cwd=${work}`);
  return `session/${name}/agent/a`;
}

async function turn(client: Client, agent: string, n: number): Promise<void> {
  await client.write(`${agent}/prompt`, `prompt ${n}`);
  for (let state = "thinking"; state !== "idle"; )
    state = (await client.rdwr(`${agent}/statewait`, state)).toString().trim();
}

function median(looks: readonly Look[]): Look {
  const of = (key: keyof Look) => looks.map((one) => one[key]).sort((a, b) => a - b)[looks.length >> 1] ?? 0;
  return { rss: of("rss"), descriptors: of("descriptors"), zombies: of("zombies") };
}
