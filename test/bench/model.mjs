// A model for rows about turns: it calls a tool until it was asked `steps` times, and a daemon that talks to it.
import { createServer } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { root } from "../../data/scripts/setup.mjs";
import { atEnd } from "./cleanup.mjs";
import { place, spawnDaemon } from "./daemon.mjs";

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta, finish = null) => event({ choices: [{ index: 0, delta, finish_reason: finish }] });
const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 };
const end = `${event({ choices: [], usage })}data: [DONE]\n\n`;
const callOf = (n) => ({
  tool_calls: [{ index: 0, id: `c${n}`, function: { name: "shell", arguments: '{"command":"true"}' } }],
});

/**
 * `asked` holds when each request for chat came, and `answered` when it was answered, in milliseconds; the first `steps` are
 * answered with a call.
 */
export async function model() {
  const self = { steps: 0, asked: [], answered: [], onAsked: () => {} };
  const server = createServer((req, res) => {
    req.resume().once("end", () => {
      if (req.method === "GET") return res.end(JSON.stringify({ data: [{ id: "bench" }] }));
      const n = self.asked.push(performance.now());
      self.onAsked();
      res.writeHead(200, { "content-type": "text/event-stream" });
      if (n <= self.steps) res.end(`${chunk(callOf(n))}${chunk({}, "tool_calls")}${end}`);
      else res.end(`${chunk({ content: "done" })}${chunk({}, "stop")}${end}`);
      self.answered.push(performance.now());
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  self.url = `http://127.0.0.1:${server.address().port}`;
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return self;
}

/** A daemon whose agents ask `at`; `turn` runs one prompt, in a new agent unless told which, and gives the agent's path. */
export async function daemonFor(at) {
  const { connect } = await import(pathToFileURL(join(root, "dist/core/ninep/client.js")).href);
  const where = place();
  Object.assign(where.env, { OLLIE_BACKEND: "openai", OLLIE_OPENAI_URL: at.url, OLLIE_MODEL: "bench" });
  const running = spawnDaemon(where);
  await running.serving();
  const client = await connect(where.socket);
  atEnd(() => client.close());
  await client.rdwr("session/new", "name=s1");
  let agents = 0;
  const agent = async () => {
    const name = `a${++agents}`;
    await client.rdwr("session/s1/agent/new", `name=${name}\ncwd=${where.dir}`);
    return `session/s1/agent/${name}`;
  };
  const rest = async (path) => {
    for (let state = "thinking"; state !== "idle"; )
      state = String(await client.rdwr(`${path}/statewait`, state)).trim();
  };
  return {
    client,
    agent,
    rest,
    pid: running.pid,
    where,
    async turn(known) {
      const path = known ?? (await agent());
      at.asked.length = 0;
      at.answered.length = 0;
      // Nobody looks on meanwhile: a client that is woken at each change of state would be measured with it.
      const last = new Promise((resolve) => {
        at.onAsked = () => at.asked.length > at.steps && resolve();
      });
      await client.write(`${path}/prompt`, "go");
      await last;
      await rest(path);
      return path;
    },
  };
}
