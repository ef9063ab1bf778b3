/**
 * Watches the tool rounds of one turn for a model that is stuck. Soft: what they say goes to the model, and a line of
 * chat says that it was said. Only failures in a row end a turn: equal calls may be polling, and prove nothing.
 */
import { createHash } from "node:crypto";
import type { ToolMessage } from "./history.ts";
import { limits } from "./limits.ts";

export interface Round {
  /** What the model said beside the calls. */
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  /** One for each call. */
  readonly results: readonly Pick<ToolMessage, "content" | "isError">[];
}

export interface Advice {
  /** For people, short. */
  readonly info: string;
  /** For the model. */
  readonly text: string;
}

export interface Guards {
  /** Takes note of a round that has ended. `end`: why the turn must end. */
  after(round: Round): { readonly advice: readonly Advice[]; readonly end: string | undefined };
}

const plan = /^[ \t#*>-]*PLAN:/m;

export function guards(): Guards {
  let failed = 0;
  let unplanned = 0;
  let planAt: number = limits.planRounds;
  let last = "";
  let equal = 0;

  const failures = ({ results }: Round): Advice | undefined => {
    failed = results.every(({ isError }) => isError) ? failed + 1 : 0;
    if (failed !== limits.errorRounds.nudge) return undefined;
    return {
      info: `every call of the last ${failed} rounds failed`,
      text: `Every tool call of your last ${failed} rounds failed. Read the errors again, check your assumptions, and try another way, or say what stands in the way.`,
    };
  };
  const planning = ({ text }: Round): Advice | undefined => {
    if (plan.test(text)) {
      unplanned = 0;
      planAt = limits.planRounds;
      return undefined;
    }
    if (++unplanned < planAt) return undefined;
    const advice = {
      info: `${unplanned} rounds without a plan`,
      text: `You have worked for ${unplanned} rounds without a plan. Begin your next reply with a short block that starts with "PLAN:", naming what is done, what is left and what comes next, and go on with it.`,
    };
    unplanned = 0;
    planAt *= 2;
    return advice;
  };
  const standstill = (round: Round): Advice | undefined => {
    const action = fingerprint(round);
    equal = action === last ? equal + 1 : 1;
    last = action;
    if (equal !== limits.equalRounds) return undefined;
    return {
      info: `the last ${equal} rounds were equal`,
      text: `Your last ${equal} rounds made the same calls and got the same results. If you wait for something, say so or use a longer wait; else try another way.`,
    };
  };
  return {
    after: (round) => ({
      advice: [failures(round), standstill(round), planning(round)].filter((one) => one !== undefined),
      end: failed >= limits.errorRounds.end ? `every call of ${failed} rounds in a row failed` : undefined,
    }),
  };
}

function fingerprint({ calls, results }: Round): string {
  const hash = createHash("sha1");
  for (const { name, args } of calls) hash.update(`${name}\0${JSON.stringify(args)}\0`);
  for (const { content } of results) hash.update(`${content}\0`);
  return hash.digest("base64");
}
