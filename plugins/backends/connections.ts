/** Connections to servers, kept for the next request. Each is an undici Client, and serves one request at a time. */
import type { Socket } from "node:net";
import type { Client } from "undici";
import type { Flow } from "./http-body.ts";
import type { Route } from "./proxy.ts";

/** `pause` is undone by `resume`, or by `done`. */
export interface Connection extends Flow {
  readonly client: Client;
  /** It has served a request, and the server has not closed it since: where it has, the client makes another by itself. */
  readonly used: boolean;
  /** The response is over: it may serve another one. */
  done(): void;
  /** Ends it for good, also while it is being made. */
  close(): void;
}

export interface Connections {
  /** For one request along `way`. `fresh`: none that was used before. */
  take(way: Route, fresh?: boolean): Connection;
}

const options = {
  // Routers forget silent connections, and servers close them.
  ...{ keepAliveTimeout: 55_000, keepAliveMaxTimeout: 55_000 },
  // Silence is measured by who waits for something: http-client.ts.
  ...{ headersTimeout: 0, bodyTimeout: 0 },
  allowH2: false,
};

export function connections(Connected: typeof Client): Connections {
  /** The last used first: the others may grow old. */
  const free = new Map<string, Connection[]>();

  const make = ({ key, origin, connect }: Route): Connection => {
    let made: { destroy(): unknown } | undefined;
    let rest: Rest | undefined;
    const client = new Connected(origin, {
      ...options,
      connect(to, done) {
        made = connect(to, (...result) => {
          if (result[1]) rest = restOf(result[1]);
          done(...result);
        });
      },
    });
    let used = false;
    client.on("disconnect", () => {
      used = false;
      const others = (free.get(key) ?? []).filter((one) => one !== connection);
      if (others.length > 0) free.set(key, others);
      else free.delete(key);
    });
    const connection: Connection = {
      client,
      get used() {
        return used;
      },
      pause: () => rest?.begin(),
      resume() {
        rest?.end();
        rest?.readOn();
      },
      done() {
        rest?.end();
        if (!client.stats.connected) return;
        used = true;
        free.set(key, [...(free.get(key) ?? []), connection]);
      },
      close() {
        void client.destroy();
        made?.destroy();
      },
    };
    return connection;
  };

  return {
    take(way, fresh = false) {
      return (fresh ? undefined : free.get(way.key)?.pop()) ?? make(way);
    },
  };
}

interface Rest {
  begin(): void;
  end(): void;
  readOn(): void;
}

/**
 * Lets a connection rest. A parser of undici that is paused when its connection ends throws where nobody catches it, or
 * takes a whole body for a broken one: so it is given nothing to read instead, and does not see the end before the rest.
 */
function restOf(socket: Socket): Rest {
  const read = socket.read.bind(socket);
  let rests = false;
  socket.read = (size) => (rests ? null : read(size));
  return {
    begin() {
      rests = true;
    },
    end() {
      rests = false;
    },
    readOn: () => void socket.emit("readable"),
  };
}
