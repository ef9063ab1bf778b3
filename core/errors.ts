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
 * What 9P clients are told in the usual cases. The manual gives no texts. Linux knows an errno for exact words only and
 * calls all others an unknown error, so these are the words of its table (net/9p/error.c) wherever that has the case;
 * the errno stands behind each.
 */
export const Rerror = {
  badMode: "illegal mode", // EINVAL
  badName: "illegal name", // ENAMETOOLONG
  badOffset: "bad offset in directory read", // ESPIPE
  badUse: "bad use of fid", // EBADF
  clunked: "fid clunked", // none: nobody waits for it
  dupFid: "fid already in use", // EBADF
  dupTag: "duplicate tag", // none: a broken client
  exists: "file already exists", // EEXIST
  isDir: "Is a directory", // EISDIR
  noAuth: "authentication not required", // none: Linux does not ask
  notDir: "not a directory", // ENOTDIR
  notFound: "file not found", // ENOENT
  open: "file already open for I/O", // ETXTBSY
  perm: "permission denied", // EACCES
  removed: "file has been removed", // EIDRM
  unknownFid: "fid unknown or out of range", // EBADF
  wstat: "wstat prohibited", // EPERM
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
