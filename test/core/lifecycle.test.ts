import { afterEach, describe, expect, test, vi } from "vitest";
import { bus, createKernel, dir, each, hook, leaf, NineError, type PluginApi, Root, token } from "#core";
import { failure, keptLog, kernelOf, late, plug, settled, started, stateOf } from "./kit.ts";

afterEach(() => void vi.useRealTimers());

const Ev = hook.observe<[]>("ev", { doc: "x" });
const One = token<number>("one");
const file = (name: string) => leaf(name, { doc: "x", read: () => name });

describe("setup is a transaction", () => {
  test("a throw undoes taps, services, mounts, timers and what was deferred", async () => {
    const undone: string[] = [];
    let signal: AbortSignal | undefined;
    let ticks = 0;
    const bad = plug(
      "bad",
      (api) => {
        signal = api.signal;
        api.mount(Root, file("x"));
        api.on(Ev, () => void undone.push("tap ran"));
        api.provide(One, 1);
        api.every(1, () => void ticks++);
        api.defer(() => void undone.push("first"));
        api.defer(async () => void undone.push("second"));
        throw new Error("half way");
      },
      { provides: [One] },
    );
    const k = await started([bad, plug("good", ({ mount }) => mount(Root, file("y")))]);
    expect(stateOf(k, "bad")).toEqual({ state: "failed", error: "setup: half way" });
    expect(k.status()[0]).toMatchObject({ taps: [], mounts: [], provides: [] });
    expect(k.status()[0]?.stack).toContain("half way");
    k.call(Ev);
    expect(undone).toEqual(["second", "first"]);
    expect(signal?.aborted).toBe(true);
    expect(k.use(One)).toBeUndefined();
    expect(await k.fs.ls("/")).toEqual(["y"]);
    const at = ticks;
    await new Promise((done) => setTimeout(done, 20));
    expect(ticks).toBe(at);
  });

  test("a rejection does the same, and so does a non-Error", async () => {
    const k = await started([
      plug("a", () => Promise.reject(new Error("later"))),
      plug("b", () => Promise.reject("just text")),
      plug("c"),
    ]);
    expect(k.status().map(({ error }) => error)).toEqual(["setup: later", "setup: just text", undefined]);
  });

  test("over its limit the plugin is named, and what it does afterwards is undone or refused", async () => {
    let go = () => {};
    const undone: string[] = [];
    const errors: string[] = [];
    const slow = plug(
      "slow",
      async (api) => {
        await new Promise<void>((done) => {
          go = done;
        });
        api.defer(() => void undone.push("at once"));
        for (const act of [
          () => api.mount(Root, file("x")),
          () => api.on(Ev, () => {}),
          () => api.provide(One, 1),
          () => api.every(1, () => {}),
          () => api.state(Root, () => 1),
          () => api.listen({ tcp: { host: "127.0.0.1", port: 0 } }),
        ])
          errors.push(await failure(async () => act()));
      },
      { provides: [One] },
    );
    const k = await started([slow], { setupLimit: 10 });
    expect(stateOf(k, "slow")).toEqual({ state: "failed", error: "setup: slow: setup did not finish in 10 ms" });
    go();
    await settled();
    expect(undone).toEqual(["at once"]);
    expect(errors).toEqual(errors.map(() => "slow: plugin stopped"));
    expect(errors).toHaveLength(6);
  });

  test("the time of each setup is told", async () => {
    const k = await started([plug("a", () => new Promise((done) => setTimeout(done, 20))), plug("b")]);
    const [a, b] = k.status();
    expect(a?.setupMs).toBeGreaterThan(b?.setupMs as number);
  });

  test("mounting is for setup only", async () => {
    let api: PluginApi | undefined;
    await started([
      plug("a", (given) => {
        api = given;
      }),
    ]);
    expect(() => api?.mount(Root, file("x"))).toThrow("a: mount is for setup only");
  });
});

describe("the end", () => {
  test("comes in reverse order; within a plugin what was deferred last goes first", async () => {
    const seen: string[] = [];
    const of = (name: string) =>
      plug(name, ({ defer, signal }) => {
        signal.addEventListener("abort", () => seen.push(`${name} abort`));
        defer(() => void seen.push(`${name} 1`));
        defer(async () => {
          await settled();
          seen.push(`${name} 2`);
        });
      });
    const k = await started([of("a"), of("b")]);
    await k.close();
    expect(seen).toEqual(["b abort", "b 2", "b 1", "a abort", "a 2", "a 1"]);
    expect(k.status().map(({ state }) => state)).toEqual(["stopped", "stopped"]);
  });

  test("an undo that throws is reported, and the rest are run", async () => {
    const seen: string[] = [];
    const a = plug("a", ({ defer }) => {
      defer(() => void seen.push("ran"));
      defer(() => Promise.reject(new Error("stuck")));
    });
    const k = await started([a]);
    await k.close();
    expect(seen).toEqual(["ran"]);
    expect(stateOf(k, "a").error).toBe("stop: stuck");
  });

  test("what does not end is reported as a leak, and holds nobody up", async () => {
    const k = await started([plug("a"), plug("leaky", ({ defer }) => defer(() => new Promise(() => {})))]);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const closed = k.close();
    await vi.advanceTimersByTimeAsync(5_000);
    await closed;
    expect(stateOf(k, "leaky").error).toBe("stop: leaky: still stopping after 5000 ms");
    expect(stateOf(k, "a").state).toBe("stopped");
  });

  test("undoes what an undo adds", async () => {
    const seen: string[] = [];
    const k = await started([plug("a", ({ defer }) => defer(() => defer(() => void seen.push("nested"))))]);
    await k.close();
    await settled();
    expect(seen).toEqual(["nested"]);
  });

  test("comes once, however often it is asked for", async () => {
    let undone = 0;
    const k = await started([plug("a", ({ defer }) => defer(() => void undone++))]);
    await Promise.all([k.close(), k.close()]);
    await k.close();
    expect(undone).toBe(1);
  });

  test("of a provider comes after that of those who need it, also when it fails late", async () => {
    const seen: string[] = [];
    const end = (name: string) => () => void seen.push(name);
    const k = await started([
      plug(
        "host",
        ({ provide, defer }) => {
          provide(One, 1);
          defer(end("host"));
        },
        { provides: [One] },
      ),
      plug(
        "guest",
        ({ defer, mount }) => {
          mount(Root, file("guest"));
          defer(end("guest"));
        },
        { needs: [One] },
      ),
      plug("other", ({ defer, mount }) => {
        mount(Root, file("other"));
        defer(end("other"));
      }),
    ]);
    expect(late(k, "host")).toBe(true);
    await settled();
    expect(seen).toEqual(["guest", "host"]);
    expect(await k.fs.ls("/")).toEqual(["other"]);
    expect(k.status().map(({ state }) => state)).toEqual(["stopped", "stopped", "running"]);
  });
});

describe("a kernel", () => {
  test("starts once", async () => {
    const k = await started([plug("a")]);
    expect(await failure(() => k.start())).toBe("a kernel starts once: make another");
    const closed = createKernel({ plugins: [] });
    await closed.close();
    expect(await failure(() => closed.start())).toBe("a kernel starts once: make another");
  });

  test("keeps the lines of its start for the plugin that logs", async () => {
    const { log, lines } = keptLog();
    const { LogSink } = await import("#core");
    await started([
      plug("a", (api) => api.log.info("early")),
      plug("logger", ({ provide }) => provide(LogSink, log), { provides: [LogSink], after: ["a"] }),
      plug("b", (api) => api.log.warn("later"), { after: ["logger"] }),
    ]);
    expect(lines).toEqual(["info early", "warn later"]);
  });
});

describe("state of a scope", () => {
  interface Room {
    name: string;
  }
  const PerRoom = Root.instances<Room>()("room/{name}", "room");
  const host = (rooms: Room[]) =>
    plug(
      "host",
      ({ mount, end }) =>
        mount(
          Root,
          dir(
            "room",
            {},
            each(PerRoom, {
              list: () => rooms,
              get: (_c, name) => rooms.find((room) => room.name === name),
              name: (room) => room.name,
              remove: (room) => {
                rooms.splice(rooms.indexOf(room), 1);
                end(PerRoom, room);
              },
            }),
          ),
        ),
      { provides: [PerRoom] },
    );
  const counter = (dropped: string[]) =>
    plug("counter", ({ mount, state }) => {
      const total = state(
        Root,
        () => ({ n: 0 }),
        (value) => void dropped.push(`total ${value.n}`),
      );
      const count = state(
        PerRoom,
        (room) => ({ n: 0, room: room.name }),
        ({ n, room }) => void dropped.push(`${room} ${n}`),
      );
      mount(PerRoom, leaf("count", { doc: "x", read: (c) => `${++count(c).n} of ${++total(c).n}` }));
    });

  test("is made when first asked for, one for each instance, dropped with it and with the plugin", async () => {
    const dropped: string[] = [];
    const k = await started([host([{ name: "hall" }, { name: "attic" }, { name: "cellar" }]), counter(dropped)]);
    expect(await k.fs.read("/room/hall/count")).toBe("1 of 1");
    expect(await k.fs.read("/room/hall/count")).toBe("2 of 2");
    expect(await k.fs.read("/room/attic/count")).toBe("1 of 3");
    await k.fs.remove("/room/hall");
    expect(dropped).toEqual(["hall 2"]);
    await k.close();
    expect(dropped.slice(1).sort()).toEqual(["attic 1", "total 3"]);
  });

  test("a drop that throws is the plugin's fault and stops nothing", async () => {
    const k = await started([
      host([{ name: "hall" }]),
      plug("odd", ({ mount, state }) => {
        const of = state(
          PerRoom,
          () => ({}),
          () => {
            throw new Error("stuck");
          },
        );
        mount(PerRoom, leaf("x", { doc: "x", read: (c) => (of(c) ? "x" : "") }));
      }),
    ]);
    await k.fs.read("/room/hall/x");
    await k.fs.remove("/room/hall");
    expect(stateOf(k, "odd").error).toBe("state: stuck");
    expect(stateOf(k, "host").error).toBeUndefined();
  });

  test("asked for where the scope is not, it says so", async () => {
    const k = await started([
      plug("odd", ({ mount, state }) => {
        const of = state(PerRoom, () => ({}));
        mount(Root, leaf("x", { doc: "x", read: (c) => `${of(c as never)}` }));
      }),
    ]);
    expect(await failure(() => k.fs.read("/x"))).toBe("odd: read /x: there is no room here");
  });
});

test("every runs as its plugin, goes on after a fault, and ends with the plugin", async () => {
  let ticks = 0;
  const ticker = plug("ticker", ({ every }) =>
    every(1, () => {
      if (++ticks === 1) throw new Error("first tick");
    }),
  );
  const k = await started([ticker]);
  await vi.waitUntil(() => ticks > 3);
  expect(stateOf(k, "ticker")).toEqual({ state: "running", error: "timer: first tick" });
  await k.close();
  const at = ticks;
  await new Promise((done) => setTimeout(done, 20));
  expect(ticks).toBe(at);
});

test("a place that a plugin listens at is closed with it", async () => {
  let address = "";
  const k = await started([
    plug("door", async ({ listen }) => {
      address = (await listen({ tcp: { host: "127.0.0.1", port: 0 } })).address;
    }),
  ]);
  const { connect } = await import("ollie/client");
  const client = await connect(address);
  expect(await client.ls("")).toEqual([]);
  await client.close();
  await k.close();
  await expect(connect(address)).rejects.toThrow();
});

test("a stopped plugin's own words to a reader are not prefixed", async () => {
  const news = bus();
  const k = await started([
    plug("a", ({ mount }) => mount(Root, leaf("s", { doc: "x", stream: () => news.subscribe() }))),
  ]);
  const reading = k.fs.read("/s").catch((error) => error);
  await settled();
  await k.close();
  expect(await reading).toEqual(new NineError("a: plugin stopped"));
});

describe("closed while it starts, a kernel", () => {
  test("tells the setup that runs, sets up no more, and leaves nothing behind", async () => {
    const seen: string[] = [];
    const slow = plug("slow", async ({ signal, defer }) => {
      defer(() => void seen.push("slow undone"));
      await new Promise((done) => signal.addEventListener("abort", done));
      seen.push("slow told");
    });
    const k = kernelOf([slow, plug("next", () => void seen.push("next set up"))]);
    const start = failure(() => k.start());
    await settled();
    await k.close();
    expect(await start).toBe("closed while it was starting");
    expect(seen).toEqual(["slow told", "slow undone"]);
    expect(k.status().map(({ state }) => state)).toEqual(["stopped", "stopped"]);
  });
});

test("closing what never started is fine", async () => {
  await kernelOf([plug("a")]).close();
});
