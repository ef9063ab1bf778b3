/**
 * Sets a place up, with things around it to reach for, and runs attacks.mjs in its sandbox. A program of its own, so that it
 * can be run as another user. Arguments: provider, profile YAML, files as JSON. Prints the attacks' results as JSON.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Wanted } from "../../../plugins/toolsrv/provider.ts";
import { place } from "./runner.ts";

const [provider = "", yaml = "", files = "{}"] = process.argv.slice(2);
const { entry, attacks, packageFile } = JSON.parse(files) as Record<string, string>;

const listen = (at: string | number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.on("error", () => {}).end());
    server.on("error", reject).listen(at as string, () => resolve(server));
  });

const p = place({ entry: entry ?? "", wanted: provider as Wanted });
const servers: Server[] = [];
try {
  writeFileSync(join(p.cfg, "env"), "OPENAI_API_KEY=sk-1\n", { mode: 0o600 });
  for (const dir of ["tools", "agents"]) mkdirSync(join(p.cfg, dir));
  const saved = join(p.base, "data/sessions/s.json");
  mkdirSync(join(p.base, "data/sessions"), { recursive: true });
  writeFileSync(saved, "{}");
  mkdirSync(join(p.cwd, ".git", "hooks"), { recursive: true });
  mkdirSync(join(p.cwd, ".git", "objects"));
  const readable = join(p.base, "readable");
  mkdirSync(readable);
  const readOnlyProgram = join(readable, "true");
  writeFileSync(readOnlyProgram, readFileSync("/bin/true"));
  chmodSync(readOnlyProgram, 0o755);
  const abstract = `\0ollie-attack-${process.pid}`;
  const socket = join(p.outside, "sock");
  const web = await listen(0);
  servers.push(web, await listen(socket), await listen(abstract));
  const given = {
    ...{
      package: packageFile,
      entry,
      outside: p.outside,
      cfg: p.cfg,
      saved,
      key: Buffer.from(process.env.OPENAI_API_KEY ?? "").toString("base64"),
      daemon: process.pid,
      readOnlyProgram,
    },
    ...{ port: (web.address() as AddressInfo).port, bindPort: 0, socket, abstract },
  };
  p.profile("default", yaml.replaceAll("{READABLE}", readable).replaceAll("{PORT}", String(given.port)));
  writeFileSync(join(p.cwd, "attacks.mjs"), readFileSync(attacks ?? ""));
  const { content, status } = await p.shell(`exec node attacks.mjs "$GIVEN"`, {
    env: { HOME: p.home, GIVEN: JSON.stringify(given) },
  });
  if (status !== "ok") throw new Error(content);
  process.stdout.write(
    JSON.stringify({
      results: JSON.parse(content),
      uid: process.getuid?.(),
      status: await p.runner.sandbox(p.session),
    }),
  );
} finally {
  for (const server of servers) server.close();
  await p.close();
}
process.exit(0);
