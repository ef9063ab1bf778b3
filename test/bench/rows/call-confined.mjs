// Calls under a profile's rules, in the process of the bench: one that has its thread, and what the thread costs once.
import { realpathSync, statSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { bareSpawn, megabytes, runner } from "../toolsrv.mjs";

const grant = (path, mode) => {
  const real = realpathSync(path);
  const { dev, ino } = statSync(real, { bigint: true });
  return { path: real, mode, id: `${dev}:${ino}` };
};

/** Enough for a shell, and as many grants as the stock profile has in most places. */
const rules = () => ({
  ...{ profile: "bench", unconfined: false, bestEffort: false, network: "unrestricted" },
  ...{ unix: [], links: [], landrun: { ldd: false, addExec: false }, notes: [], warnings: [] },
  grants: [
    ...["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"].map((path) => grant(path, "rox")),
    ...["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/proc"].map((path) => grant(path, "ro")),
    ...["/dev/null", "/dev/zero", "/dev/urandom", "/dev/tty"].map((path) => grant(path, "rw")),
    grant("/tmp", "rwx"),
  ],
});

export default [
  {
    name: "tool call, confined",
    against: "bare spawn of sh -c true",
    goal: 0.6,
    rounds: 41,
    async setup() {
      const { thread } = await runner();
      const { sh } = await thread(rules());
      return { baseline: bareSpawn, measured: () => sh("true") };
    },
  },
  {
    name: "sandbox of a set of rules, made once",
    against: "limit",
    goal: 1,
    async setup() {
      const { thread } = await runner();
      return {
        baseline: async () => 300,
        async measured() {
          const start = performance.now();
          const { close } = await thread(rules());
          const ms = performance.now() - start;
          await close();
          return ms;
        },
      };
    },
  },
  {
    name: "sandbox of a set of rules, memory",
    against: "limit",
    unit: "MB",
    goal: 1,
    rounds: 5,
    async setup() {
      const { thread } = await runner();
      const kept = [];
      return {
        baseline: async () => 12,
        async measured() {
          const before = megabytes(process.pid, "VmRSS");
          for (let i = 0; i < 4; i++) kept.push(await thread(rules()));
          const used = (megabytes(process.pid, "VmRSS") - before) / 4;
          for (const { close } of kept.splice(0)) await close();
          return used;
        },
      };
    },
  },
];
