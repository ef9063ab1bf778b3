/** npm run soak: 200 kills and 10,000 turns. `--write` puts the result into docs/performance.md. `--seed N`: other moments. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { kills } from "./kills.ts";
import { turns } from "./turns.ts";

const { values } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    kills: { type: "string", default: "200" },
    turns: { type: "string", default: "10000" },
  },
});
const note = (line: string) => console.error(`${line} …`);

const killed = await kills(Number(values.kills), Number(values.seed), note);
const turned = await turns(Number(values.turns), note);
const { before, after } = turned;
const lines = [
  `${killed.rounds} kills with -9 at random moments (seed ${values.seed}): ${killed.prompts} acknowledged prompts and ` +
    `${killed.results} tool results are all there (${killed.interrupted} calls were cut off), no process is left, no history was refused.`,
  `${turned.turns} turns in ${turned.seconds.toFixed(0)} s: memory ${before.rss.toFixed(0)} MB → ` +
    `${after.rss.toFixed(0)} MB, descriptors ${before.descriptors} → ${after.descriptors}, zombies ${after.zombies}, ` +
    `warnings of listeners ${turned.warnings}.`,
];
console.log(lines.join("\n"));
const flat =
  after.rss < before.rss * 1.25 &&
  after.descriptors < before.descriptors + 20 &&
  after.zombies === 0 &&
  turned.warnings === 0;
if (!flat) {
  console.error("not flat: memory, descriptors, zombies or listeners grow");
  process.exitCode = 1;
}
if (values.write) {
  const page = "docs/performance.md";
  const [rest = ""] = existsSync(page) ? readFileSync(page, "utf8").split("\n## Soak\n") : ["# Performance\n"];
  const text = lines.map((line) => `- ${line}\n`).join("");
  writeFileSync(page, `${rest.trimEnd()}\n\n## Soak\n\nWritten by \`npm run soak -- --write\`.\n\n${text}`);
}
