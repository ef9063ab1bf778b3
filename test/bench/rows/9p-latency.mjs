// One request at a time: the median of its round trips.
import { performance } from "node:perf_hooks";
import { dial, open, read, server, walk } from "../ninep.mjs";

const rounds = 2000;

async function median(connection) {
  const times = new Float64Array(rounds);
  const request = read(0, 1);
  for (let n = 0; n < rounds; n++) {
    const start = performance.now();
    const replied = new Promise((resolve) => (connection.onReply = resolve));
    connection.socket.write(request);
    await replied;
    times[n] = performance.now() - start;
  }
  return times.sort()[rounds / 2] * 1000;
}

export default {
  name: "9P read, one at a time, p50",
  against: "canned answers",
  goal: 1.15,
  unit: "µs",
  async setup() {
    const places = {};
    for (const kind of ["ollie", "canned"]) {
      const serving = await server(kind);
      const connection = await dial(serving.socket);
      connection.onChunk = () => {};
      await connection.run(walk(0, 0, 1, "file"), open(0, 1));
      places[kind] = connection;
    }
    return {
      measured: () => median(places.ollie),
      baseline: () => median(places.canned),
    };
  },
};
