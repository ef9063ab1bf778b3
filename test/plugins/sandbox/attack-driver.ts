/**
 * Starts the built daemon, with things around it to reach for, and has tools of agents run attacks.mjs, each in a session with
 * another profile. A program of its own, so that it can be run as another user; its working directory is the package, TMPDIR a
 * folder of that user's. Arguments: provider, path of attacks.mjs, YAML of each profile. Prints what came of the attacks, what
 * the session says of its sandbox, and what is in the config folder afterwards, as JSON.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { daemon, place } from "../../soak/daemon.ts";

const [provider = "", attacks = "", ...profiles] = process.argv.slice(2);
const key = "sk-in-the-environment";

const listen = (at: string | number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.on("error", () => {}).end());
    server.on("error", reject).listen(at as string, () => resolve(server));
  });

const at = place({ OLLIE_ISOLATION: provider, OLLIE_BACKEND: "script", OPENAI_API_KEY: key }, process.env.TMPDIR);
const cfg = join(at.dir, ".config/ollie");
const outside = join(at.dir, "out");
const readable = join(at.dir, "readable");
const saved = join(at.sessions, "s.json");
const configFolders = ["tools", "agents", "sandbox"].map((name) => join(cfg, name));
for (const dir of [outside, readable, at.sessions, ...configFolders]) mkdirSync(dir, { recursive: true, mode: 0o700 });
writeFileSync(join(outside, "secret"), "s3cret\n");
writeFileSync(join(cfg, "env"), "OPENAI_API_KEY=sk-1\n", { mode: 0o600 });
const readOnlyProgram = join(readable, "true");
writeFileSync(readOnlyProgram, readFileSync("/bin/true"));
chmodSync(readOnlyProgram, 0o755);

const socket = join(outside, "sock");
const abstract = `\0ollie-attack-${process.pid}`;
const web = await listen(0);
const servers = [web, await listen(socket), await listen(abstract)];
const { port } = web.address() as AddressInfo;

const running = await daemon(at);
const { client } = running;
const read = async (path: string) => (await client.read(path)).toString();
try {
  writeFileSync(saved, "{}");
  const given = {
    ...{ package: join(process.cwd(), "package.json"), entry: join(process.cwd(), "dist/toolsrv.js") },
    ...{ outside, cfg, saved, daemon: running.pid, readOnlyProgram, port, bindPort: 0, socket, abstract },
    // In another form: what it reads of itself would have it, too.
    key: Buffer.from(key).toString("base64"),
  };
  const reports = [];
  for (const [n, yaml] of profiles.entries()) {
    const profile = yaml.replaceAll("{READABLE}", readable).replaceAll("{PORT}", String(port));
    writeFileSync(join(cfg, "sandbox/default.yaml"), profile);
    reports.push(await attack(`s${n}`, given));
  }
  process.stdout.write(JSON.stringify(reports));
} finally {
  for (const server of servers) server.close();
  await running.term();
  at.remove();
}
process.exit(0);

async function attack(name: string, given: unknown) {
  const work = join(at.work, name);
  for (const dir of ["hooks", "objects"]) mkdirSync(join(work, ".git", dir), { recursive: true });
  writeFileSync(join(work, "attacks.mjs"), readFileSync(attacks));
  await client.rdwr("session/new", `name=${name} cwd=${work} agent=default`);
  await client.write(`session/${name}/env`, `GIVEN=${JSON.stringify(given)}\n`);
  const names = (await client.ls(`session/${name}/agent`)).map((entry) => entry.name);
  const agent = `session/${name}/agent/${names.find((one) => one !== "new" && one !== "idx")}`;
  await client.write(`${agent}/prompt`, 'run: exec node attacks.mjs "$GIVEN"');
  while ((await read(`${agent}/state`)) !== "idle\n") await sleep(10);
  const context = await read(`${agent}/context`);
  const messages = context.trim().split("\n");
  const said = messages.map((line) => JSON.parse(line)).find(({ role }) => role === "tool")?.content ?? context;
  const results = said.split("\n").find((line: string) => line.startsWith("{"));
  if (results === undefined) throw new Error(said);
  const status = await read(`session/${name}/sandbox`);
  return {
    results: JSON.parse(results),
    uid: process.getuid?.(),
    status,
    config: readdirSync(cfg, { recursive: true }).sort(),
  };
}
