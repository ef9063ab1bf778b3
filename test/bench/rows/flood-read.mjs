// A 9P read of the daemon while five of its tools write without end. Held against the same processes without ollie between:
// what is left is what the daemon makes of it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { atEnd } from "../cleanup.mjs";
import { place, spawnDaemon } from "../daemon.mjs";

const agents = [1, 2, 3, 4, 5].map((n) => `session/s1/agent/a${n}`);

export default {
  name: "9P read while 5 tools flood",
  against: "the same beside 5 pipes of yes",
  goal: 1.5,
  rounds: 7,
  async setup() {
    const { connect } = await import(pathToFileURL(join(root, "dist/core/ninep/client.js")).href);
    const where = place();
    await spawnDaemon(where).serving();
    const client = await connect(where.socket);
    atEnd(() => client.close());
    await client.rdwr("session/new", "name=s1");
    for (const agent of agents) await client.rdwr("session/s1/agent/new", `name=${agent.slice(-2)}\ncwd=${where.dir}`);
    const states = async () =>
      Promise.all(agents.map(async (agent) => (await client.read(`${agent}/state`)).toString()));
    const all = async (test) => {
      while (!(await states()).every(test)) await sleep(20);
    };
    const median = async () => {
      const times = [];
      for (let i = 0; i < 300; i++) {
        const start = performance.now();
        await client.read("session/idx");
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[150];
    };
    return {
      async baseline() {
        const floods = agents.map(() =>
          spawn("/bin/sh", ["-c", "yes | cat >/dev/null"], { detached: true, stdio: "ignore" }),
        );
        const end = () => {
          for (const { pid } of floods.splice(0)) process.kill(-pid, "SIGKILL");
        };
        atEnd(end);
        await sleep(300);
        const ms = await median();
        end();
        return ms;
      },
      async measured() {
        for (const agent of agents) await client.write(`${agent}/prompt`, "run: yes");
        await all((state) => state.startsWith("calling"));
        await sleep(300);
        const ms = await median();
        for (const agent of agents) await client.rdwr(`${agent}/ctl`, "stop");
        await all((state) => state.startsWith("idle"));
        return ms;
      },
    };
  },
};
