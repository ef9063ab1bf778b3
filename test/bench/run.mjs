// npm run bench [-- NAME…] [--write]: rows whose file name holds a NAME, or all; `--write` renews docs/performance.md.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ensureBuilt, root, run } from "../../data/scripts/setup.mjs";
import { cleanUp } from "./cleanup.mjs";
import { runRow } from "./harness.mjs";

const dir = join(import.meta.dirname, "rows");

const limit = `## What the limit of 9P is made of

The canned server parses a size and copies an answer: it is what a Node process on a socket costs. Where each request is a write of its
own, as plan9port, Linux and most libraries send them, read(2), write(2) and the event loop are nearly all of it, and serving the
tree on top does not show. Where a client sends 64 requests in one write those costs are shared by 64, and what is left is the work itself.
The canned server then takes 0.32 µs of CPU for a small read. Taught to parse the message, to look its tag and fid up and to cut the file, in
one function that makes no object, it takes 0.33 µs. The tree takes 0.65 µs: its own 0.33 µs are the records of a message, a request and a reply,
and the calls from the codec over the fid and the open file to the tree and back. That is the price of the layers, and
why the rows "sent together" are missed.

What made it so, by what taking it away costs: replies of one tick leave in one write; a request is itself the answer that the tree asks for, so that
no closure is made for it; a message's type is asked once, since a field of records that differ in shape is a look-up each time; numbers are read
and written byte by byte; no error, no AbortSignal and no promise is made that nobody looks at; a walk finds the node that it found
last time; a stat's bytes serve until it says something else; what lies in an array is not looked up in a map; what nearly always is one
thing is no Set (a Set makes a new table whenever its last thing leaves: that was a third to a half of a wake-up); large replies use their buffers again.

A handler that gives a promise, and a generator, pay for promises, which cost more in Node 20 where an AsyncLocalStorage is in use: the guard
has one, to know whose code runs. 10,000 plain async generators that loop over a source and are woken together cost 0.6 µs each, and 2.5 µs once
an AsyncLocalStorage is in use: six promises for an item, and for each of them hooks of Node run. Ours cost 7 µs in the same minute, with the
request, its reply and the larger heap that a collection has to go through, and 4 µs of these until the reply has left: what a generator
does between two items comes behind it. A \`bus\` wakes its readers without any promise.

## What a tool step is made of

The bare loop forks a small process and asks nobody whether it may. Of the time between the end of a response and the next request, a
third is the program and its start (bash, where the bare loop has dash), a ninth the way to toolsrv and back, a tenth the provider's package, a
tenth the way of the request to the server, a twentieth to see whether anything has changed that its rules came from, and as much to read which
tools there are. The rest is to read the response, to write down what happened, and to prepare the call. Nothing of it grows with the turn but the request
itself. Where a fork costs more than on this machine, as it does in a program with a large heap, the bare loop is what gets slower: nothing
here forks. Node 24 takes a fifth less for all of it, since Node 20 runs hooks of its own for each promise once an AsyncLocalStorage is in use.

## What a streamed turn is made of

A process that only takes the same reply with undici, cuts it into events, parses them and writes their text to a socket takes twice
as long as the plain pair with 1 KB an event; with node:http it would take three to four times as long (docs/decisions/016).

What a turn adds is the log, which encodes the text at its place and is written 1 MB at a time, and a reader that asks for 64 KB at a
time. Pieces that came together leave a turn of the event loop between them, else a reader would get a tenth of what comes. A long
reply is stored when those who read along have its end: to make 50 MB into JSON, for the journal and for the snapshot, is
half a second in which nobody else has a turn.

## What the limit of a start is made of

\`node -e 0\` imports no file and opens no socket. \`import of an empty module\` and \`the same with Node's socket alone\` say how
much of a start is Node's, whoever does it: the first import brings Node's loader of ES modules, and threads for its files; a socket
brings streams, which are not in the snapshot that Node starts from. So most of what the goals of \`import "ollie"\` and
\`ollie-9p read\` leave is taken before a line of ours runs.

Ours is behind that: finding and reading a bundle and the code that was kept of it (docs/decisions/011), decoding that code, the modules'
own bodies, and then the work. What a start does not need it does not load: libraries, half of Node's modules, Node's
threads for files. A timer, an AbortSignal and the words of a stack are made when somebody asks for them.
`;

/** Settles when the bench has to end before its time: resolves with the signal, rejects with an error that nobody caught. */
const interrupted = new Promise((resolve, reject) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
  process.once("uncaughtException", reject);
});

await run(async () => {
  try {
    const signal = await Promise.race([bench(process.argv.slice(2)), interrupted]);
    if (signal) process.exitCode = 1;
  } finally {
    await cleanUp();
  }
});
// A row that was broken off may still wait for something.
process.exit();

async function bench(args) {
  const wanted = args.filter((arg) => arg !== "--write");
  ensureBuilt();
  const results = [];
  for (const file of readdirSync(dir).sort()) {
    if (wanted.length > 0 && !wanted.some((name) => file.includes(name))) continue;
    const { default: rows } = await import(join(dir, file));
    for (const row of [rows].flat()) {
      process.stderr.write(`${row.name} …\n`);
      results.push(await runRow(row));
    }
  }
  const table = markdown(results);
  process.stdout.write(table);
  if (args.includes("--write")) write(join(root, "docs/performance.md"), page(table));
}

/** The soak's section stays. */
function write(file, text) {
  const [, soak] = existsSync(file) ? readFileSync(file, "utf8").split("\n## Soak\n") : [];
  writeFileSync(file, soak === undefined ? text : `${text}\n## Soak\n${soak}`);
}

function markdown(results) {
  const head = ["what", "median", "against", "median", "ratio", "middle half", "goal", ""];
  const rows = results.map((r) => [
    r.name,
    `${r.middle.toFixed(1)} ${r.unit}`,
    r.against,
    `${r.baseline.toFixed(1)} ${r.unit}`,
    `${r.ratio.toFixed(2)}x`,
    r.spread.map((n) => n.toFixed(2)).join("-"),
    `≤ ${r.goal}x`,
    r.ratio <= r.goal ? "met" : "missed",
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |\n`;
  return line(head) + line(widths.map((width) => "-".repeat(width))) + rows.map(line).join("");
}

function page(table) {
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return `# Performance

Written by \`npm run bench -- --write\`. Each row is a ratio of medians of runs that took turns on one machine, so that the
machine's speed cancels out; milliseconds are there for the sense of size only. "middle half" is what half of the pairs gave.

${table}
${limit}
Machine: ${cpus().length} × ${cpu.model.trim()}, ${gib} GiB, Linux, Node ${process.versions.node}.
`;
}
