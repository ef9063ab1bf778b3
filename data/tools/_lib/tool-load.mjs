// tool_load: writes a tool's name to the agent's `tools`, then tells how the tool is used.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail, needString, readArgs, say } from "./args.mjs";

const name = needString(readArgs(), "name");
if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) fail(`${JSON.stringify(name)} is not the name of a tool`);
const { OLLIE_SESSION_ID: session, OLLIE_AGENT_ID: agent, OLLIE_TOOLS_PATH: path = "" } = process.env;
if (!session || !agent) fail("tool_load works only for an agent: OLLIE_SESSION_ID and OLLIE_AGENT_ID are not set");

// The package's own client where it is built; else the one on PATH.
const built = fileURLToPath(new URL("../../../dist/bin/ollie-9p.cjs", import.meta.url));
const [program, ...before] = existsSync(built) ? [process.execPath, built] : ["ollie-9p"];
const file = `session/${session}/agent/${agent}/tools`;
const { status, stderr, error } = spawnSync(program, [...before, "write", file], { input: name, encoding: "utf8" });
if (error) fail(`${name} could not be loaded: ${error.message}`);
if (status !== 0) fail(`${name} could not be loaded: ${stderr.trim() || `ollie-9p exited with status ${status}`}`);

say(`${name} is loaded from the next step on\n`);
const prompt = promptOf();
if (prompt) say(`\n${prompt.trim()}\n`);

function promptOf() {
  for (const dir of path.split(":"))
    try {
      return JSON.parse(readFileSync(join(dir, `${name}.meta`), "utf8")).prompt;
    } catch {
      // the next folder may have it
    }
  return undefined;
}
