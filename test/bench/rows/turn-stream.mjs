/**
 * A turn with a long answer, read live from chat.raw, against a plain pair of sockets that carries the same bytes: the
 * same events, as many of them, each a write of its own. Both senders have a process of their own, and the reader is this
 * one. The time ends with the last byte of text at the reader.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { daemonFor } from "../model.mjs";
import { provider } from "../provider.mjs";
import { megabytes } from "../toolsrv.mjs";

const event = (value) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta, finish = null) => event({ choices: [{ index: 0, delta, finish_reason: finish }] });
const sender = `
  const [, port, piece, times] = process.argv;
  const socket = require("node:net").connect(Number(port), "127.0.0.1");
  let n = 0;
  const more = () => {
    while (n++ < Number(times)) if (!socket.write(piece)) return socket.once("drain", more);
    socket.end();
  };
  socket.once("connect", more);`;

const row = (name, piece, times) => ({
  name,
  against: "a plain socket",
  // A quarter of the socket's rate.
  goal: 4,
  rounds: 9,
  async setup() {
    const size = piece.length * times;
    const sent = chunk({ content: piece });
    const daemon = await daemonFor({ url: await provider(sent, times, `${chunk({}, "stop")}data: [DONE]\n\n`) });
    return {
      async measured() {
        const path = await daemon.agent();
        const start = performance.now();
        await daemon.client.write(`${path}/prompt`, "go");
        let got = 0;
        for await (const bytes of daemon.client.stream(`${path}/chat.raw`)) {
          got += bytes.length;
          if (got >= size) break;
        }
        const ms = performance.now() - start;
        await daemon.rest(path);
        await daemon.client.rdwr(`${path}/ctl`, "kill");
        const peak = megabytes(daemon.pid, "VmHWM");
        if (peak > 1024) throw new Error(`the daemon's peak is ${peak} MB`);
        return ms;
      },
      baseline: () =>
        new Promise((resolve) => {
          const server = createServer((socket) => {
            const start = performance.now();
            socket
              .on("data", () => {})
              .on("end", () => {
                resolve(performance.now() - start);
                server.close();
                socket.end();
              });
          }).listen(0, "127.0.0.1", () =>
            spawn(process.execPath, ["-e", sender, String(server.address().port), sent, String(times)], {
              stdio: "ignore",
            }),
          );
        }),
    };
  },
});

export default [
  row("a turn of 50 MB of text, 1 KB an event", `${"x".repeat(1023)}\n`, 50_000),
  row("a turn of 250,000 tokens, an event each", "word ", 250_000),
];
