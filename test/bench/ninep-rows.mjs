// Rows of requests in flight: the same requests to ollie and to the canned server, in time and in the server's CPU.
import { performance } from "node:perf_hooks";
import { clunk, dial, load, open, read, server, stat, walk } from "./ninep.mjs";

/** Microseconds of an operation: of the clock, and of the server's CPU. */
async function run(place, one) {
  const { cpu } = await place.server.ask();
  const start = performance.now();
  const requests = await load(place.connection, place.chains, one.total, one.together);
  const ms = performance.now() - start;
  const after = await place.server.ask();
  const operations = requests / one.steps;
  return { time: (ms * 1000) / operations, cpu: (after.cpu - cpu) / operations };
}

/**
 * `one`: name, flight, chain(tag) → the requests of one operation, before(flight) → what opens its fids, least → the lowest
 * share of the canned server's rate that is well, cpu → the highest multiple of its CPU, together → how load() sends. Gives
 * a row for the time, and one for the CPU where it has a goal.
 */
export function against(one) {
  const full = { steps: one.chain(0).length, total: 40_000, ...one };
  const name = `9P ${one.name}, ${one.flight} in flight${one.together ? ", sent together" : ""}`;
  const row = (what, goal) => ({
    name: what === "cpu" ? `${name}, CPU` : name,
    against: "canned answers",
    goal,
    unit: "µs",
    rounds: 15,
    async setup() {
      const places = {};
      for (const kind of ["ollie", "canned"]) {
        const serving = await server(kind);
        const connection = await dial(serving.socket);
        await connection.run(...(one.before?.(one.flight) ?? []));
        places[kind] = {
          server: serving,
          connection,
          chains: Array.from({ length: one.flight }, (_, n) => one.chain(n)),
        };
      }
      // Compiled and warm on both sides.
      for (const place of Object.values(places)) await run(place, full);
      return {
        measured: async () => (await run(places.ollie, full))[what],
        baseline: async () => (await run(places.canned, full))[what],
      };
    },
  });
  return [row("time", round(1 / one.least)), ...(one.cpu ? [row("cpu", one.cpu)] : [])];
}

const round = (n) => Math.round(n * 100) / 100;

/** walk, open, read, clunk of a file by `names`. */
export const cycle =
  (...names) =>
  (tag) => [walk(tag, 0, 100 + tag, ...names), open(tag, 100 + tag), read(tag, 100 + tag), clunk(tag, 100 + tag)];

/** Opens fid 1 on `names` for all to share. */
const opened =
  (...names) =>
  () => [walk(0, 0, 1, ...names), open(0, 1)];

export const smallRead = { name: "small read", before: opened("file"), chain: (tag) => [read(tag, 1)] };
export const smallStat = { name: "stat", before: opened("file"), chain: (tag) => [stat(tag, 1)] };
