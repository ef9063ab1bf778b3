/**
 * What an attacker's program does: tries things at a socket and prints what came of each, as JSON. Arguments: JSON with
 * `addr` (default: the name space), `uname`, and `acts`: [verb, path, text] each.
 */
import { type Client, connect } from "#core/client";

const { addr, uname, acts } = JSON.parse(process.argv[2] ?? "{}") as {
  addr?: string;
  uname?: string;
  acts: [verb: "read" | "write" | "rdwr" | "remove" | "rename", path: string, text?: string][];
};

async function act(client: Client, [verb, path, text = ""]: (typeof acts)[number]): Promise<string> {
  const signal = AbortSignal.timeout(3000);
  if (verb === "read") return `ok ${(await client.read(path, { signal })).toString().trim()}`;
  if (verb === "write") await client.write(path, text, { signal });
  else if (verb === "rdwr") return `ok ${(await client.rdwr(path, text, { signal })).toString().trim()}`;
  else if (verb === "remove") await client.remove(path);
  else await client.wstat(path, { name: text });
  return "ok";
}

const results: string[] = [];
try {
  const client = await connect(addr, { uname });
  for (const one of acts) results.push(await act(client, one).catch((error: Error) => error.message));
  await client.close();
} catch (error) {
  results.push(`no way in: ${(error as Error).message}`);
}
process.stdout.write(`${JSON.stringify(results)}\n`);
process.exit(0);
