/** The end of the built daemon while tools run. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type Daemon, daemon, type Place, place } from "../../soak/daemon.ts";
import { here } from "../sandbox/gate.ts";
import { alive, escaped, stubborn, until } from "./processes.ts";

const A = "session/s1/agent/a1";
let at: Place;

afterEach(() => at.remove());

/** A daemon whose agent has one process in the background and one call under way; both are hard to end. */
async function busy(): Promise<{ server: Daemon; pids: number[] }> {
  // Not in bwrap, where the pids that programs print are not ours.
  at = place({ OLLIE_BACKEND: "script", OLLIE_ISOLATION: here.landlock ? "landlock" : "none" });
  const script = join(at.dir, "script.json");
  const call = (command: string, more = {}) => ({ steps: [{ call: { name: "shell", args: { command, ...more } } }] });
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
  const said = (name: string) => {
    try {
      return readFileSync(join(at.work, name), "utf8");
    } catch {
      return "";
    }
  };
  await until(() => said("bg").includes("up") && said("fg").includes("up"));
  const pids = `${said("bg")}${said("fg")}`.match(/^\d+$/gm)?.map(Number) ?? [];
  expect(pids.filter(alive).length).toBeGreaterThan(8);
  return { server, pids };
}

describe("the daemon ends", () => {
  test("cleanly on SIGTERM: what ran is ended and saved, and nothing is left", async () => {
    const { server, pids } = await busy();
    // It gives itself five seconds, and then another status than 0.
    expect((await server.term()).code).toBe(0);
    await until(() => !pids.some(alive));
    const again = await daemon(at);
    const context = (await again.client.read(`${A}/context`)).toString("utf8");
    expect(context).toContain("process 1 (pid ");
    expect(context).toMatch(/interrupted/);
    expect((await again.term()).code).toBe(0);
  });

  test("by kill -9: nothing is left", async () => {
    const { server, pids } = await busy();
    await server.kill();
    await until(() => !pids.some(alive));
  });
});
