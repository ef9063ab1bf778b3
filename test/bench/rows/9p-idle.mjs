// What a daemon costs that nobody asks anything: its CPU and its wake-ups with 100 agents and 1,000 blocked readers, and the
// memory of a connection.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { daemonFor, model } from "../model.mjs";
import { dial, open, read, server, walk } from "../ninep.mjs";

const agents = 100;
const readers = 1000;
const connections = 1000;
/** Seconds that are watched, after the daemon's memory manager has come to rest. */
const seconds = 20;

/** Context switches that a process asked for, in all its threads: each wait that ended. */
function wakeups(pid) {
  let sum = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${task}/status`, "utf8");
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)[1]);
  }
  return sum;
}

/** Milliseconds of CPU of a process, all threads. */
function cpu(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function idleDaemon() {
  const at = await model();
  const daemon = await daemonFor(at);
  await daemon.client.rdwr("session/new", "name=s2");
  for (let n = 0; n < agents; n++) {
    // A session holds 64 agents at most.
    const session = `session/s${(n % 2) + 1}`;
    await daemon.client.rdwr(`${session}/agent/new`, `name=x${n}\ncwd=${daemon.where.dir}`);
    const connection = await dial(daemon.where.socket);
    for (let fid = 1; fid <= readers / agents; fid++) {
      const file = ["chat", "chat.raw", "statewait", "feed"][fid % 4];
      await connection.run(walk(0, 0, fid, ...session.split("/"), "agent", `x${n}`, file), open(0, fid));
      // A chat has a beginning, which is read first.
      if (fid % 4 < 2) connection.socket.write(read(fid, fid, 4096, 1 << 20));
      else connection.socket.write(read(fid, fid));
    }
  }
  await sleep(20_000);
  return daemon.pid;
}

const idle = (what, unit, limit, measure) => ({
  name: `idle daemon, ${agents} agents, ${readers} blocked readers: ${what} in ${seconds} s`,
  against: "limit",
  unit,
  goal: 1,
  rounds: 1,
  async setup() {
    const pid = await idleDaemon();
    return {
      baseline: async () => limit,
      async measured() {
        const before = measure(pid);
        await sleep(seconds * 1000);
        return measure(pid) - before;
      },
    };
  },
});

const memory = {
  name: "idle connection, RSS",
  against: "limit",
  unit: "KB",
  goal: 1,
  rounds: 1,
  async setup() {
    const serving = await server("ollie");
    const all = [];
    const more = async (count) => {
      for (let n = 0; n < count; n++) {
        const connection = await dial(serving.socket);
        await connection.run(walk(0, 0, 1, "file"), open(0, 1), read(0, 1));
        all.push(connection);
      }
    };
    const rss = async () => {
      await serving.ask("gc");
      return (await serving.ask("gc")).rss;
    };
    return {
      baseline: async () => 20,
      async measured() {
        // What the first ones cost is code and pools.
        await more(300);
        const before = await rss();
        await more(connections);
        const each = ((await rss()) - before) / connections / 1024;
        for (const { socket } of all.splice(0)) socket.destroy();
        return each;
      },
    };
  },
};

export default [idle("CPU", "ms", 10, cpu), idle("wake-ups", "times", 2, wakeups), memory];
