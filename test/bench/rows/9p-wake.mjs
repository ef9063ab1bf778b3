// One write wakes 10,000 blocked readers: from the request for it until the last of them has its reply.
import { performance } from "node:perf_hooks";
import { dial, open, read, server, walk } from "../ninep.mjs";

const readers = 10_000;

function row(file, connections, limit) {
  return {
    name: `9P wake of ${readers} readers of a ${file} on ${connections} connection${connections > 1 ? "s" : ""}, each`,
    against: "limit",
    unit: "µs",
    goal: 1,
    rounds: 9,
    async setup() {
      const serving = await server("ollie");
      const all = [];
      const each = readers / connections;
      for (let n = 0; n < connections; n++) {
        const connection = await dial(serving.socket);
        for (let fid = 1; fid <= each; fid++) await connection.run(walk(0, 0, fid, file), open(0, fid));
        all.push(connection);
      }
      const requests = Buffer.concat(Array.from({ length: each }, (_, n) => read(n, n + 1)));
      return {
        baseline: async () => limit,
        async measured() {
          let left = readers;
          let done;
          const woken = new Promise((resolve) => (done = resolve));
          for (const { socket } of all) socket.write(requests);
          // The answer to this comes when the server has heard them all.
          await Promise.all(all.map((connection) => connection.run(walk(each, 0, 0))));
          for (const connection of all) {
            connection.onReply = () => {
              left--;
              if (left === 0) done();
            };
          }
          const start = performance.now();
          await serving.ask("publish");
          await woken;
          return ((performance.now() - start) * 1000) / readers;
        },
      };
    },
  };
}

export default [
  row("bus", 1, 1.5),
  row("bus", 1000, 3),
  row("generator", 1, 5),
  row("generator", 1000, 5),
  row("promise", 1, 5),
  row("promise", 1000, 5),
];
