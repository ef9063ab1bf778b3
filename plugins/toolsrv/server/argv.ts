/** The three ways in which arguments reach a script: JSON on stdin, OLLIE_TOOL_ARGS, positional. docs/tools.md. */
import type { ArgsSchema } from "#plugins/tools";

/** execve refuses single strings over 128 KiB; the environment and argv share about 2 MiB. */
const limit = 100_000;

export interface Passed {
  stdin: string;
  /** Undefined where it does not fit: then the variable is unset. */
  variable: string | undefined;
  /** Undefined where a command line can not hold them: `unfit` says why. */
  argv: string[] | undefined;
  unfit: string;
}

export function passArgs(schema: ArgsSchema, args: Record<string, unknown>): Passed {
  const json = JSON.stringify(args);
  const argv = positional(schema, args);
  const size = argv.reduce((sum, value) => sum + Buffer.byteLength(value) + 1, 0);
  const hasNull = argv.some((value) => value.includes("\0"));
  return {
    stdin: `${json}\n`,
    variable: Buffer.byteLength(json) <= limit ? json : undefined,
    argv: size <= limit && !hasNull ? argv : undefined,
    unfit: hasNull ? "hold a null character, which can not stand on" : "are too long for",
  };
}

/** Required ones first, then the others as declared, up to the last one given; those between are empty. */
export function positional(schema: ArgsSchema, args: Record<string, unknown>): string[] {
  const required = schema.required ?? [];
  const others = Object.keys(schema.properties ?? {}).filter((name) => !required.includes(name));
  const values = [...required, ...others].map((name) => (Object.hasOwn(args, name) ? plain(args[name]) : undefined));
  const last = values.findLastIndex((value) => value !== undefined);
  return values.slice(0, last + 1).map((value) => value ?? "");
}

function plain(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plain).join(",");
  return JSON.stringify(value) ?? "";
}
