// A provider in a process of its own: it answers every request with the same pieces, each a write of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { atEnd } from "./cleanup.mjs";

/** `pieces`: the body, write by write. Gives the URL. */
export async function provider(pieces) {
  const child = fork(import.meta.filename, [], { env: { PROVIDER: "1" } });
  const ended = once(child, "exit");
  atEnd(async () => {
    child.kill();
    await ended;
  });
  child.send(pieces);
  const [port] = await once(child, "message");
  return `http://127.0.0.1:${port}/`;
}

if (process.env.PROVIDER === "1") {
  const [pieces] = await once(process, "message");
  const server = createServer(async (req, res) => {
    for await (const _ of req);
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) if (!res.write(piece)) await once(res, "drain");
    res.end();
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
  process.once("disconnect", () => process.exit());
}
