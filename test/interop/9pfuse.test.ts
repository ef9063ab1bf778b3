/** plan9port's `9pfuse`, where it, /dev/fuse and fusermount are. */
import { accessSync, constants, readFileSync } from "node:fs";
import { mountTests } from "./mounts.ts";
import { found, present, run, start, until } from "./rig.ts";

const program = found("9pfuse");
const fusermount = found("fusermount3") ?? found("fusermount");

function missing(): string | undefined {
  if (!program) return "no 9pfuse on PATH";
  if (!fusermount) return "no fusermount on PATH";
  try {
    accessSync("/dev/fuse", constants.R_OK | constants.W_OK);
  } catch {
    return "/dev/fuse can not be opened";
  }
  return undefined;
}

const isMounted = (dir: string): boolean => readFileSync("/proc/self/mounts", "utf8").includes(` ${dir} `);

mountTests("9pfuse", present("9pfuse", missing()), {
  flushes: false,
  truncates: false,
  commits: false,
  async mount({ socket }, dir) {
    // It goes on in the background, with our pipes: their end is that of the mount.
    const fuse = start([program as string, `unix!${socket}`, dir]);
    await until(() => isMounted(dir) || (fuse.exitCode ?? 0) !== 0);
    return () => run([fusermount as string, "-u", "-z", dir]);
  },
});
