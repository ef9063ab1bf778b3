// A provider in a process of its own: it answers every POST with the same pieces, each a write of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { atEnd } from "./cleanup.mjs";

/** The body is `piece` so many `times`, and then `end`. Gives the URL. */
export async function provider(piece, times, end = "") {
  const child = fork(import.meta.filename, [], { env: { PROVIDER: "1" } });
  const ended = once(child, "exit");
  atEnd(async () => {
    child.kill();
    await ended;
  });
  child.send({ piece, times, end });
  const [port] = await once(child, "message");
  return `http://127.0.0.1:${port}/`;
}

if (process.env.PROVIDER === "1") {
  const [{ piece, times, end }] = await once(process, "message");
  const server = createServer(async (req, res) => {
    for await (const _ of req);
    if (req.method === "GET") return res.end('{"data":[]}');
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (let n = 0; n < times; n++) if (!res.write(piece)) await once(res, "drain");
    res.end(end);
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.once("disconnect", () => process.exit());
}
