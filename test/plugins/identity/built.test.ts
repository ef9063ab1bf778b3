/** The built daemon, whose bundles are not the modules that the other tests run: who connects is judged there, too. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { packageRoot } from "#core";
import { A, build, home, idle, start } from "../sessions/built.ts";

const program = `${process.execPath} ${join(packageRoot(), "dist/bin/ollie-9p.cjs")}`;

beforeAll(build);

test("a confined program and a tool of ours are refused at the main socket, a tool of another session at an agent's", async () => {
  const at = home({ OLLIE_BACKEND: "script", OLLIE_ISOLATION: "none" });
  const { client } = await start(at);
  const confined = spawnSync("setpriv", ["--no-new-privs", ...program.split(" "), "read", "agents"], {
    env: at.env,
    encoding: "utf8",
  });
  expect(confined.stderr).toBe("ollie-9p: permission denied: this process is sandboxed; use $NAMESPACE\n");
  for (const name of ["s1", "s2"]) await client.rdwr("session/new", `name=${name} cwd=${at.work}`);
  for (const name of ["s1", "s2"]) await client.wstat(await onlyAgent(name), { name: "a1" });
  const said = async (agent: string, command: string): Promise<string> => {
    await client.write(`${agent}/prompt`, `run: ${command}`);
    await idle(client, agent);
    const lines = (await client.read(`${agent}/context`)).toString().trim().split("\n");
    return lines.map((line) => JSON.parse(line)).findLast(({ role }) => role === "tool").content;
  };
  const namespace = /NAMESPACE=(\S*\/a\/[0-9a-f]{8})/.exec(await said("session/s2/agent/a1", "env"))?.[1] ?? "";
  const main = await said(A, `${program} -a ${at.dir}/ns/ollie read agents`);
  expect(main).toContain("this process is sandboxed; use $NAMESPACE");
  expect(await said(A, `${program} -a ${namespace}/ollie read agents`)).toContain("for tools of its session alone");
  expect(await said(A, `${program} read ${A}/name`)).toBe("a1");

  async function onlyAgent(session: string): Promise<string> {
    const [agent] = (await client.ls(`session/${session}/agent`)).filter(({ name }) => !["new", "idx"].includes(name));
    return `session/${session}/agent/${agent?.name}`;
  }
});
