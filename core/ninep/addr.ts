/** Where a 9P server is: Plan 9's dial strings, and the name space directory that plan9port's programs share. */
import { join } from "node:path";

export type Addr = { unix: string } | { host: string; port: number };

/** The kernel takes 108 bytes for a socket's path, and Node cuts a longer one without a word. */
const MAXPATH = 100;

type Env = Readonly<Record<string, string | undefined>>;

/** The folder of service sockets: `$NAMESPACE`, else `/tmp/ns.$USER.$DISPLAY`, as plan9port's getns(3) has it. */
export function namespaceDir(env: Env): string {
  if (env.NAMESPACE) return env.NAMESPACE;
  const display = (env.DISPLAY || ":0").replace(/\.0$/, "").replaceAll("/", "_");
  return `/tmp/ns.${env.USER || env.LOGNAME || "none"}.${display}`;
}

/**
 * An address from `unix!PATH`, `tcp!HOST!PORT` or `/PATH`; by default the socket `ollie` in the name space directory.
 * Throws Error with one sentence when it is none, or when a socket's path is over 100 bytes.
 */
export function parseAddr(text: string | undefined, env: Env = process.env): Addr {
  if (text === undefined) return unix(join(namespaceDir(env), "ollie"));
  if (text.startsWith("/")) return unix(text);
  const [net, first, second, ...rest] = text.split("!");
  if (net === "unix" && first) return unix(text.slice("unix!".length));
  if (net === "tcp" && first && second && rest.length === 0 && /^\d{1,5}$/.test(second) && Number(second) < 65536)
    return { host: first, port: Number(second) };
  throw new Error(`address ${JSON.stringify(text)} is none of unix!PATH, tcp!HOST!PORT, /PATH`);
}

function unix(path: string): Addr {
  const size = Buffer.byteLength(path);
  if (size > MAXPATH)
    throw new Error(`socket path ${path} has ${size} bytes, more than ${MAXPATH}: set NAMESPACE to a shorter folder`);
  return { unix: path };
}
