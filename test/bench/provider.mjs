// A provider in a process of its own: it answers every request with the same pieces, each a write of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";

/** `pieces`: the body, write by write. Gives the URL and `close`. */
export async function provider(pieces) {
  const child = fork(import.meta.filename, [], { env: { PROVIDER: "1" } });
  child.send(pieces);
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
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
