import { describe, expect, test } from "vitest";
import { type Arch, filter } from "../../../plugins/sandbox-landlock/seccomp.ts";
import { instructions, judge } from "./bpf.ts";

const [pid, tid] = [4242, 4250];
const audit = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** asm/unistd_64.h and asm-generic/unistd.h, written down a second time. */
const nr = {
  x64: {
    ...{ read: 0, execve: 59, kill: 62, tkill: 200, tgkill: 234, rt_sigqueueinfo: 129, rt_tgsigqueueinfo: 297 },
    ...{ prlimit64: 302, sched_setaffinity: 203, setpriority: 141, ioctl: 16, fcntl: 72, pidfd_open: 434 },
    ...{ pidfd_send_signal: 424, ptrace: 101, process_vm_readv: 310, process_vm_writev: 311, add_key: 248 },
    ...{ request_key: 249, keyctl: 250, userfaultfd: 323, bpf: 321, perf_event_open: 298, io_uring_setup: 425 },
    ...{ io_uring_enter: 426, io_uring_register: 427, socket: 41, sendto: 44, sendmsg: 46, sendmmsg: 307 },
  },
  arm64: {
    ...{ read: 63, execve: 221, kill: 129, tkill: 130, tgkill: 131, rt_sigqueueinfo: 138, rt_tgsigqueueinfo: 240 },
    ...{ prlimit64: 261, sched_setaffinity: 122, setpriority: 140, ioctl: 29, fcntl: 25, pidfd_open: 434 },
    ...{ pidfd_send_signal: 424, ptrace: 117, process_vm_readv: 270, process_vm_writev: 271, add_key: 217 },
    ...{ request_key: 218, keyctl: 219, userfaultfd: 282, bpf: 280, perf_event_open: 241, io_uring_setup: 425 },
    ...{ io_uring_enter: 426, io_uring_register: 427, socket: 198, sendto: 206, sendmsg: 211, sendmmsg: 269 },
  },
};
type Call = keyof typeof nr.x64;

describe.each(["x64", "arm64"] as const)("the filter of %s", (arch) => {
  const say = (network: "none" | "tcp" | "open", call: Call, ...args: number[]) =>
    judge(filter({ network, keep: [pid, tid], arch }), { arch: audit[arch], nr: nr[arch][call], args });

  test("lets ordinary calls pass", () => {
    for (const call of ["read", "execve", "kill", "ioctl", "fcntl", "pidfd_open", "sendto"] as const)
      expect(say("none", call, 0, 0, 0, 0)).toBe("allow");
  });

  test("refuses to look into other processes, keyrings, bpf and perf", () => {
    const calls = ["ptrace", "process_vm_readv", "process_vm_writev", "add_key", "request_key", "keyctl"] as const;
    for (const call of [...calls, "userfaultfd", "bpf", "perf_event_open"] as const)
      expect([call, say("open", call)]).toEqual([call, 1]);
    for (const call of ["io_uring_setup", "io_uring_enter", "io_uring_register", "pidfd_send_signal"] as const)
      expect(say("open", call)).toBe(38);
  });

  test("keeps signals and limits from what spawns", () => {
    for (const call of ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"] as const)
      for (const id of [pid, tid]) expect([call, say("open", call, id)]).toEqual([call, 1]);
    expect(say("open", "kill", 99)).toBe("allow");
    expect(say("open", "sched_setaffinity", tid)).toBe(1);
    expect(say("open", "setpriority", 0, tid)).toBe(1);
    expect(say("open", "setpriority", 0, 7)).toBe("allow");
    expect(say("open", "pidfd_open", tid, 0o200)).toBe(1);
    for (const id of [pid, tid, 7]) expect(say("open", "prlimit64", id)).toBe(1);
    expect(say("open", "prlimit64", 0)).toBe("allow");
    expect(say("open", "fcntl", 3, 15)).toBe(1);
    expect(say("open", "fcntl", 3, 10, 9)).toBe(1);
    expect(say("open", "fcntl", 3, 8, tid)).toBe(1);
    expect(say("open", "fcntl", 3, 8, 7)).toBe("allow");
  });

  test("keeps a terminal from being written to", () => {
    expect(say("open", "ioctl", 0, 0x5412)).toBe(1);
    expect(say("open", "ioctl", 0, 0x541c)).toBe(1);
  });

  test("network none leaves local sockets and netlink", () => {
    for (const family of [1, 16]) expect(say("none", "socket", family, 1, 0)).toBe("allow");
    for (const family of [2, 10, 17, 40, 38, 21]) expect(say("none", "socket", family, 1, 0)).toBe(97);
  });

  test("ports: plain TCP and UDP, and nothing that connects past connect(2)", () => {
    for (const family of [1, 2, 10, 16]) expect(say("tcp", "socket", family, 1, 0)).toBe("allow");
    for (const family of [17, 40]) expect(say("tcp", "socket", family, 1, 0)).toBe(97);
    for (const protocol of [262, 132]) expect(say("tcp", "socket", 2, 1, protocol)).toBe(93);
    expect(say("tcp", "sendto", 3, 0, 0, 0x20000000)).toBe(95);
    expect(say("tcp", "sendmsg", 3, 0, 0x20004000)).toBe(95);
    expect(say("tcp", "sendmmsg", 3, 0, 1, 0x20000000)).toBe(95);
    expect(say("tcp", "sendto", 3, 0, 0, 0x4000)).toBe("allow");
  });

  test("unrestricted: any socket", () => {
    for (const family of [1, 2, 10, 16, 17]) expect(say("open", "socket", family, 3, 262)).toBe("allow");
  });

  test("another architecture is killed", () => {
    const program = filter({ network: "open", keep: [pid], arch });
    const others = [0x40000003, 0x40000028, arch === "x64" ? audit.arm64 : audit.x64];
    for (const other of others) expect(judge(program, { arch: other, nr: 1 })).toBe("kill");
    if (arch === "x64") expect(judge(program, { arch: audit.x64, nr: 0x40000001 })).toBe("kill");
  });

  test.each(["none", "tcp", "open"] as const)("network %s, byte by byte", (network) => {
    const program = filter({ network, keep: [pid, tid], arch });
    expect(program.length % 8).toBe(0);
    expect(instructions(program).map((one) => one.map((n) => n.toString(16)).join(" "))).toMatchSnapshot();
    expect(program.toString("hex")).toMatchSnapshot();
  });
});

test("the number of instructions is within the kernel's bounds", () => {
  for (const arch of ["x64", "arm64"] satisfies Arch[])
    expect(filter({ network: "tcp", keep: [1, 2], arch }).length / 8).toBeLessThan(4096);
});
