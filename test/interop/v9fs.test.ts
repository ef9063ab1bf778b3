/** Linux's own client, where its kernel has one and we may mount. */
import { readFileSync } from "node:fs";
import { mountTests } from "./mounts.ts";
import { present, run } from "./rig.ts";

function missing(): string | undefined {
  if (process.getuid?.() !== 0) return "only root may mount";
  try {
    if (/^nodev\t9p$/m.test(readFileSync("/proc/filesystems", "utf8"))) return undefined;
  } catch {}
  return "the kernel has no file system 9p (modprobe 9p 9pnet_fd)";
}

mountTests("v9fs", present("Linux v9fs", missing()), {
  flushes: true,
  truncates: true,
  commits: true,
  async mount({ socket }, dir) {
    const options = `trans=unix,version=9p2000,uname=${process.env.USER || "root"},access=any`;
    const { code, err } = await run(["mount", "-t", "9p", "-o", options, socket, dir]);
    if (code !== 0) throw new Error(err);
    return () => run(["umount", "-l", dir]);
  },
});
