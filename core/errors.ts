/** Codes and Rerror texts in one table. docs/errors.md explains each code. */

/** What went wrong with a plugin, a config or a tree: stable codes, for programs. */
export type ErrorCode =
  | "E_CONFIG" // a config key, value or file is wrong
  | "E_CONFLICT" // two fragments claim one path
  | "E_CYCLE" // plugins need each other
  | "E_DROPPED" // bytes written but never committed were dropped
  | "E_HANDLER" // a plugin's handler threw
  | "E_HOOK" // a hook tap threw
  | "E_LATE" // an error in a timer or a loose promise
  | "E_LEAK" // something of a stopped plugin is still alive
  | "E_LISTEN" // an address can not be listened on
  | "E_NEEDS" // a needed service or scope is missing
  | "E_PROVIDED" // a service is already provided
  | "E_SPEC" // a tree fragment breaks a rule
  | "E_START" // a required plugin failed, or setup took too long
  | "E_USE"; // the plugin api was used in a way that it forbids

/** An error of the kernel itself. `message` is one sentence for a person. */
export class OllieError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OllieError";
    this.code = code;
  }
}

/**
 * An error whose text is meant for the client: it becomes the Rerror as it is, with no prefix and no stack.
 * Lower case, no full stop, subject first; under 128 bytes where it can be (plan9port cuts there).
 */
export class NineError extends Error {
  constructor(text: string) {
    super(text);
    this.name = "NineError";
  }
}

/**
 * The texts that Linux's v9fs maps to an errno (its net/9p/error.c) and that plan9port prints.
 * Source: intro(5) of the Plan 9 manual names none; these are the usual ones of lib9p and v9fs.
 */
export const Rerror = {
  badOffset: "bad offset in directory read",
  badUse: "bad use of fid",
  busy: "file in use",
  clunked: "fid clunked",
  dupFid: "fid already in use",
  dupTag: "duplicate tag",
  exists: "file already exists",
  exclusive: "exclusive use file already open",
  isDir: "is a directory",
  noAuth: "authentication not required",
  noCreate: "permission denied",
  notFound: "file not found",
  notDir: "not a directory",
  notOpen: "file not open",
  open: "fid already open for I/O",
  perm: "permission denied",
  tooMany: "too many open files",
  unknownFid: "unknown fid or fid has been clunked",
  wstat: "wstat prohibited",
} as const;

/** The message of anything that was thrown, an Error or not. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error === "string") return error;
  if (error === undefined || error === null) return `${error} was thrown`;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return Object.prototype.toString.call(error);
  }
}

/** Cuts `text` to at most `max` bytes of UTF-8, at a character border. */
export function cutText(text: string, max: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= max) return text;
  let end = max;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
