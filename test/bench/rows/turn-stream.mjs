// A turn whose answer is 50 MB, read live from chat.raw, against the same bytes through a socket of another process.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { daemonFor, model } from "../model.mjs";
import { megabytes } from "../toolsrv.mjs";

const piece = `${"x".repeat(1023)}\n`;
const pieces = 50_000;
const size = piece.length * pieces;
const sender = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  const piece = "x".repeat(1023) + "\\n";
  let n = 0;
  const more = () => {
    while (n++ < ${pieces}) if (!socket.write(piece)) return socket.once("drain", more);
    socket.end();
  };
  socket.once("connect", more);`;

export default {
  name: "a turn of 50 MB of text",
  against: "a plain socket",
  // A quarter of the socket's rate.
  goal: 4,
  rounds: 5,
  async setup() {
    const at = await model();
    at.text = Array(pieces).fill(piece);
    const daemon = await daemonFor(at);
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
            spawn(process.execPath, ["-e", sender, String(server.address().port)], { stdio: "ignore" }),
          );
        }),
    };
  },
};
