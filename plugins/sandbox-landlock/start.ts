/**
 * Starts programs with posix_spawn(3): until its execve(2) a child borrows the memory of this process, where Node's own spawn
 * copies its page tables, which is most of what a start costs and grows with the memory in use. The child is confined to
 * what the calling thread is.
 */
import { constants } from "node:os";
import type koffiModule from "koffi";

export interface Where {
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** The program's argv[0]; default: `file`. */
  name?: string;
  /** Descriptors, which its 0, 1, 2, … become. The caller closes them; all others that are close-on-exec stay here. */
  stdio: readonly number[];
}

/**
 * Starts `file`, a path, in a session of its own, with all signals as they are by default. Gives its pid; the caller waits for
 * it. Throws Error with the `code` of what posix_spawn(3) says: ENOENT, EACCES, ENOEXEC, E2BIG.
 */
export type Start = (file: string, args: readonly string[], where: Where) => number;

// spawn.h: the same in glibc and musl.
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;

/** More than a posix_spawn_file_actions_t, a posix_spawnattr_t or a sigset_t has in any C library. */
const roomy = 512;

/** Throws where the C library has not all that is needed: glibc has it since 2.29. */
export function starter(koffi: typeof koffiModule): Start {
  const libc = koffi.load(null);
  const initActions = libc.func("int posix_spawn_file_actions_init(void *actions)");
  const addDup2 = libc.func("int posix_spawn_file_actions_adddup2(void *actions, int fd, int to)");
  const addChdir = libc.func("int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)");
  const freeActions = libc.func("int posix_spawn_file_actions_destroy(void *actions)");
  const initAttributes = libc.func("int posix_spawnattr_init(void *attributes)");
  const setFlags = libc.func("int posix_spawnattr_setflags(void *attributes, short flags)");
  const setDefault = libc.func("int posix_spawnattr_setsigdefault(void *attributes, const void *signals)");
  const setMask = libc.func("int posix_spawnattr_setsigmask(void *attributes, const void *signals)");
  const spawn = libc.func(
    "int posix_spawn(_Out_ int *pid, const char *path, const void *actions, const void *attributes, const char **argv, const char **envp)",
  );

  const attributes = Buffer.alloc(roomy);
  initAttributes(attributes);
  setFlags(attributes, SETSIGDEF | SETSIGMASK | SETSID);
  setDefault(attributes, Buffer.alloc(roomy, 0xff));
  setMask(attributes, Buffer.alloc(roomy));

  return (file, args, { cwd, env, stdio, name = file }) => {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    for (const text of [file, name, cwd, ...args, ...variables])
      if (text.includes("\0")) throw new Error(`${file}: arguments, variables and folders can not hold null bytes`);
    const actions = Buffer.alloc(roomy);
    initActions(actions);
    try {
      addChdir(actions, cwd);
      for (const [to, fd] of stdio.entries()) addDup2(actions, fd, to);
      const pid = [0];
      const errno = spawn(pid, file, actions, attributes, [name, ...args, null], [...variables, null]);
      if (errno !== 0) throw failure(file, errno);
      return pid[0] as number;
    } finally {
      freeActions(actions);
    }
  };
}

/** Worded as Node's own. */
function failure(file: string, errno: number): NodeJS.ErrnoException {
  const [code = `errno ${errno}`] = Object.entries(constants.errno).find(([, number]) => number === errno) ?? [];
  return Object.assign(new Error(`spawn ${file} ${code}`), { code });
}
