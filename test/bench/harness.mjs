// Runs a row: what is measured and what it is held against, turn about, so that both see the same machine.
import { performance } from "node:perf_hooks";
import { cleanUp } from "./cleanup.mjs";

/**
 * A row, the default export of a file in rows/ (or one of a list there):
 *   name, against  what is measured, and what it is held against
 *   goal           highest ratio that is well
 *   unit           of both numbers (default ms)
 *   rounds         pairs of runs (default 15)
 *   setup()        → { measured, baseline }, two async functions. One that returns a number has measured by itself;
 *                  otherwise it is timed from call to end. What has to go afterwards is given to atEnd() where it is made.
 */
export async function runRow(row) {
  try {
    const { measured, baseline } = await row.setup();
    await measured();
    await baseline();
    const pairs = [];
    for (let round = 0; round < (row.rounds ?? 15); round++) {
      // The order changes from round to round: what the first leaves behind would always hit the second.
      const first = round % 2 === 0;
      const a = first ? await time(measured) : undefined;
      const b = await time(baseline);
      pairs.push([a ?? (await time(measured)), b]);
    }
    return result(row, pairs);
  } finally {
    await cleanUp();
  }
}

async function time(run) {
  const start = performance.now();
  const own = await run();
  return typeof own === "number" ? own : performance.now() - start;
}

function result({ name, against, goal, unit = "ms" }, pairs) {
  const middle = quantile(pairs.map(([a]) => a));
  const baseline = quantile(pairs.map(([, b]) => b));
  const ratios = pairs.map(([a, b]) => a / b);
  return {
    name,
    against,
    goal,
    unit,
    middle,
    baseline,
    ratio: middle / baseline,
    spread: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  };
}

function quantile(values, at = 0.5) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * at;
  const low = sorted[Math.floor(place)];
  return low + (sorted[Math.ceil(place)] - low) * (place % 1);
}
