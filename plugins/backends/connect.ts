/** How connections are made. What a client has not been given yet, it can not end: whoever gives one up ends it here. */
import { isIP, connect as netConnect, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import type { buildConnector } from "undici";

/** `destroy` of what it gives ends what is being made. */
export type Connect = (to: buildConnector.Options, done: buildConnector.Callback) => { destroy(): unknown };

/** As much as is read at once: else each read is followed by a stop. */
const roomy = { highWaterMark: 64 * 1024 };

/** Connections to a server itself. */
export const straight: Connect = (to, done) => {
  const { hostname: host, protocol, port } = to;
  if (protocol === "https:") return secured(to, { port: Number(port) || 443 }, done);
  const socket = netConnect({ host, port: Number(port) || 80, ...roomy });
  return told(socket, "connect", done);
};

/** TLS with the server that is asked for, over a connection to `over`. */
export function secured(
  { hostname: host, servername }: buildConnector.Options,
  over: { port: number } | { socket: Socket },
  done: buildConnector.Callback,
): TLSSocket {
  const name = servername ?? (isIP(host) ? undefined : host);
  const socket = tlsConnect({
    ...over,
    ...{ host, ALPNProtocols: ["http/1.1"] },
    ...(name === undefined ? {} : { servername: name }),
  });
  return told(socket, "secureConnect", done);
}

function told<S extends Socket>(socket: S, made: string, done: buildConnector.Callback): S {
  const failed = (error: Error) => done(error, null);
  socket.once("error", failed);
  socket.once(made, () => {
    socket.off("error", failed);
    done(null, socket);
  });
  socket.setNoDelay(true).setKeepAlive(true, 60_000);
  return socket;
}
