// Small requests of 9P with many in flight, against a server that answers with canned bytes. The goals of the time are
// shares of its rate: 85 % is 1.18 times its time.
import { against, cycle, smallRead, smallStat } from "../ninep-rows.mjs";

const one = { name: "walk, open, read, clunk", chain: cycle("file") };
const five = { name: "the same of five names", chain: cycle("session", "s1", "agent", "a1", "state") };
const slow = { name: "the same of an async handler", chain: cycle("async") };

export default [
  { ...smallRead, flight: 16, least: 0.85, cpu: 1.25 },
  { ...smallRead, flight: 64, least: 0.85, cpu: 1.25 },
  { ...smallStat, flight: 16, least: 0.85, cpu: 1.25 },
  { ...smallStat, flight: 64, least: 0.85, cpu: 1.25 },
  { ...one, flight: 16, least: 0.85 },
  { ...one, flight: 64, least: 0.75 },
  { ...five, flight: 16, least: 0.75 },
  { ...five, flight: 64, least: 0.6 },
  { ...slow, flight: 16, least: 0.75 },
  { ...slow, flight: 64, least: 0.65 },
  // A client that sends all it has in one write leaves system calls out of the sum, and then the work itself shows.
  { ...smallRead, flight: 64, together: true, least: 0.85, cpu: 1.25 },
  { ...smallStat, flight: 64, together: true, least: 0.85, cpu: 1.25 },
  { ...one, flight: 64, together: true, least: 0.75 },
].flatMap(against);
