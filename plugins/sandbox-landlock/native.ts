/** The system calls that confine the calling thread, through koffi. Nothing here may be called on a main thread. */
import type koffiModule from "koffi";

export interface Native {
  /** Version of Landlock; 0: this kernel has none, or it is switched off. */
  abi(): number;
  /** A new ruleset: its descriptor. */
  createRuleset(attributes: Buffer): number;
  /** Type 1: a path, 2: a port. */
  addRule(ruleset: number, type: number, attributes: Buffer): void;
  /** For this thread and what it starts, for good. */
  restrict(ruleset: number): void;
  noNewPrivileges(): void;
  /** Gives all up, whatever user this is. */
  dropCapabilities(): void;
  /** Prepared ahead, because nothing can be loaded afterwards. */
  installFilter(program: Buffer): void;
  threadId(): number;
  close(fd: number): void;
}

// asm-generic/unistd.h: the same on x64 and arm64, gettid apart.
const CREATE_RULESET = 444;
const ADD_RULE = 445;
const RESTRICT_SELF = 446;
const GETTID = process.arch === "x64" ? 186 : 178;
const ASK_VERSION = 1;

// linux/prctl.h, linux/seccomp.h, linux/capability.h
const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2;
const CAPABILITY_VERSION_3 = 0x20080522;

let loading: Promise<Native> | undefined;

/** Once in a thread. Rejects where koffi can not be loaded. */
export function loadNative(): Promise<Native> {
  loading ??= import("koffi").then(({ default: koffi }) => bind(koffi));
  return loading;
}

function bind(koffi: typeof koffiModule): Native {
  const libc = koffi.load(null);
  const call = libc.func("long syscall(long n, intptr_t a, intptr_t b, intptr_t c, intptr_t d)");
  const withAttributes = libc.func("long syscall(long n, const void *attributes, intptr_t size, intptr_t flags)");
  const withRule = libc.func("long syscall(long n, long fd, long type, const void *attributes, intptr_t flags)");
  const prctl = libc.func("int prctl(int option, ulong a, ulong b, ulong c, ulong d)");
  const capset = libc.func("int capset(const void *header, const void *data)");
  const program = koffi.struct({ length: "uint16", filter: "const void *" });
  const filterCall = libc.func("prctl", "int", ["int", "ulong", koffi.pointer(program), "ulong", "ulong"]);
  const closeCall = libc.func("int close(int fd)");
  const must = (what: string, result: unknown): number => {
    if (Number(result) < 0) throw new Error(`${what} failed with errno ${koffi.errno()}`);
    return Number(result);
  };
  return {
    abi: () => Math.max(0, Number(withAttributes(CREATE_RULESET, null, 0, ASK_VERSION))),
    createRuleset: (attributes) =>
      must("landlock_create_ruleset", withAttributes(CREATE_RULESET, attributes, attributes.length, 0)),
    addRule: (fd, type, attributes) => void must("landlock_add_rule", withRule(ADD_RULE, fd, type, attributes, 0)),
    restrict: (fd) => void must("landlock_restrict_self", call(RESTRICT_SELF, fd, 0, 0, 0)),
    noNewPrivileges: () => void must("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
    dropCapabilities() {
      const header = Buffer.alloc(8);
      header.writeUInt32LE(CAPABILITY_VERSION_3, 0);
      must("capset", capset(header, Buffer.alloc(24)));
    },
    installFilter(filter) {
      const given = { length: filter.length / 8, filter };
      must("seccomp", filterCall(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, given, 0, 0));
    },
    threadId: () => must("gettid", call(GETTID, 0, 0, 0, 0)),
    close: (fd) => void closeCall(fd),
  };
}

/** The version of Landlock here; a sentence where it can not be used. */
export async function landlockVersion(): Promise<number | string> {
  if (process.platform !== "linux") return `Landlock needs Linux, this is ${process.platform}`;
  if (process.arch !== "x64" && process.arch !== "arm64")
    return `there is no system call filter for ${process.arch} (x64 and arm64 have one)`;
  try {
    return (await loadNative()).abi() || "this kernel has no Landlock, or it is switched off";
  } catch (error) {
    return `koffi can not be loaded: ${String(error).split("\n")[0]}`;
  }
}
