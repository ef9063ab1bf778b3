/** The end of the built daemon while tools run. */
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type Daemon, daemon, type Place, place } from "../../soak/daemon.ts";
import { here } from "../sandbox/gate.ts";
import { escaped, stubborn, until } from "./processes.ts";

const A = "session/s1/agent/a1";
let at: Place;

afterEach(() => at.remove());

const isolations = (["bwrap", "landlock"] as const).filter((name) => here[name]);

/** Command lines with `mark` in them. Seen from outside: a pid that is printed in bwrap is another one here. */
const marked = (mark: string): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").join(" ");
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(mark));

/** A daemon whose agent has one process in the background and one call under way; both are hard to end. */
async function busy(isolation: string): Promise<{ server: Daemon; left: () => string[] }> {
  at = place({ OLLIE_BACKEND: "script", OLLIE_ISOLATION: isolation });
  const script = join(at.dir, "script.json");
  // A part of a second that no other process sleeps for.
  const mark = `.${randomInt(1e8, 1e9)}`;
  const call = (text: string, more = {}) => {
    const command = text.replaceAll(/sleep 9\d\d/g, `$&${mark}`);
    return { steps: [{ call: { name: "shell", args: { command, ...more } } }] };
  };
  const replies = [
    call(`(${stubborn} echo up; exec sleep 941) >bg`, { background: true }),
    call(`(${escaped} echo up; exec sleep 942) >fg`, { timeout: 0 }),
    { steps: [{ text: "never" }] },
  ];
  writeFileSync(script, JSON.stringify({ replies }));
  at.env.OLLIE_SCRIPT = script;
  const server = await daemon(at);
  await server.client.rdwr("session/new", "name=s1");
  await server.client.rdwr("session/s1/agent/new", `name=a1\ncwd=${at.work}`);
  await server.client.write(`${A}/prompt`, "go");
  const left = () => marked(mark);
  // Five in the background; five of the call, and three that are hard to find.
  await until(() => left().filter((line) => line.startsWith("sleep ")).length === 13);
  return { server, left };
}

describe.each(isolations.length > 0 ? isolations : ["none"])("the daemon ends, its tools in %s", (isolation) => {
  test("cleanly on SIGTERM: what ran is ended and saved, and nothing is left", async () => {
    const { server, left } = await busy(isolation);
    // It gives itself five seconds, and then another status than 0.
    expect((await server.term()).code).toBe(0);
    await until(() => left().length === 0);
    const again = await daemon(at);
    const context = (await again.client.read(`${A}/context`)).toString("utf8");
    expect(context).toContain("process 1 (pid ");
    expect(context).toMatch(/interrupted/);
    expect((await again.term()).code).toBe(0);
  });

  test("by kill -9: nothing is left", async () => {
    const { server, left } = await busy(isolation);
    await server.kill();
    await until(() => left().length === 0);
  });
});
