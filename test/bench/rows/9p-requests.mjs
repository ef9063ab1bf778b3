// Small requests of 9P with many in flight, against a server that answers with canned bytes. The goals of the time are
// shares of its rate: 85 % is 1.18 times its time.
import { against, cycle, smallRead, smallStat } from "../ninep-rows.mjs";

export default [
  ...[16, 64].flatMap((flight) =>
    [smallRead, smallStat].flatMap((one) => against({ ...one, flight, least: 0.85, cpu: 1.25 })),
  ),
  ...against({ name: "walk, open, read, clunk", chain: cycle("file"), flight: 16, least: 0.85 }),
  ...against({ name: "walk, open, read, clunk", chain: cycle("file"), flight: 64, least: 0.75 }),
  ...[
    {
      name: "the same of five names, two instances",
      chain: cycle("session", "s1", "agent", "a1", "state"),
      flight: 16,
      least: 0.75,
    },
    {
      name: "the same of five names, two instances",
      chain: cycle("session", "s1", "agent", "a1", "state"),
      flight: 64,
      least: 0.6,
    },
    { name: "the same of an async handler", chain: cycle("async"), flight: 16, least: 0.75 },
    { name: "the same of an async handler", chain: cycle("async"), flight: 64, least: 0.65 },
  ].flatMap(against),
];
