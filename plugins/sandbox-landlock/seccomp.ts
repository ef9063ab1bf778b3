/**
 * The system call filter, assembled here because no library is needed for forty instructions of classic BPF
 * (seccomp(2), linux/filter.h). It closes what Landlock lets pass: docs/security.md.
 */

export type Arch = "x64" | "arm64";

export interface FilterOptions {
  /** `none`: no internet sockets; `tcp`: ports are Landlock's, so only plain TCP may carry data to them. */
  network: "none" | "tcp" | "open";
  /** Ids of the process and the thread that spawn: a tool shares their rules and could signal or limit them. */
  keep: readonly number[];
  arch: Arch;
}

interface Calls {
  /** AUDIT_ARCH_*. */
  audit: number;
  /** Refused with EPERM. */
  refused: number[];
  /** Refused where their first argument is one of `keep`. */
  kept: number[];
  /** As if the kernel had no such call. The folder of a thread in /proc is a pidfd, too, and which it is can not be seen here. */
  absent: number[];
  setpriority: number;
  prlimit64: number;
  ioctl: number;
  fcntl: number;
  pidfd_open: number;
  socket: number;
  sendto: number;
  sendmsg: number;
  sendmmsg: number;
}

// asm/unistd_64.h and asm-generic/unistd.h. refused: ptrace process_vm_readv process_vm_writev add_key request_key keyctl
// userfaultfd bpf perf_event_open; kept: kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo sched_setaffinity;
// absent: io_uring_setup io_uring_enter io_uring_register pidfd_send_signal, which programs know to do without.
const calls: Record<Arch, Calls> = {
  x64: {
    audit: 0xc000003e,
    refused: [101, 310, 311, 248, 249, 250, 323, 321, 298],
    kept: [62, 200, 234, 129, 297, 203],
    absent: [425, 426, 427, 424],
    setpriority: 141,
    prlimit64: 302,
    ioctl: 16,
    fcntl: 72,
    pidfd_open: 434,
    socket: 41,
    sendto: 44,
    sendmsg: 46,
    sendmmsg: 307,
  },
  arm64: {
    audit: 0xc00000b7,
    refused: [117, 270, 271, 217, 218, 219, 282, 280, 241],
    kept: [129, 130, 131, 138, 240, 122],
    absent: [425, 426, 427, 424],
    setpriority: 140,
    prlimit64: 261,
    ioctl: 29,
    fcntl: 25,
    pidfd_open: 434,
    socket: 198,
    sendto: 206,
    sendmsg: 211,
    sendmmsg: 269,
  },
};

const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const fail = (errno: number): number => 0x50000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

// struct seccomp_data: nr, arch, instruction pointer, six arguments of 64 bits, little endian on both.
const NUMBER = 0;
const ARCH = 4;
const argument = (n: number): number => 16 + 8 * n;

const X32 = 0x40000000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const F_SETOWN = 8;
const F_SETSIG = 10;
const F_SETOWN_EX = 15;
const PIDFD_THREAD = 0o200;
const MSG_FASTOPEN = 0x20000000;
const IPPROTO_MPTCP = 262;
const IPPROTO_SCTP = 132;
const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 };

type Instruction = [code: number, operand: number, jumpTrue: number, jumpFalse: number];

const load = (offset: number): Instruction => [LOAD, offset, 0, 0];
const give = (what: number): Instruction => [RETURN, what, 0, 0];
/** `what` where the loaded value is `value`, else on to the next. */
const giveIf = (value: number, what: number, code = EQUAL): Instruction[] => [[code, value, 0, 1], give(what)];

/** `body` for the call `nr` alone. It must return; the number is loaded before and behind it. */
const forCall = (nr: number, body: Instruction[]): Instruction[] => [[EQUAL, nr, 0, body.length], ...body];

const forArgument = (nr: number, n: number, values: readonly number[], errno: number, code = EQUAL): Instruction[] =>
  forCall(nr, [load(argument(n)), ...values.flatMap((value) => giveIf(value, fail(errno), code)), give(ALLOW)]);

/** The instructions, eight bytes each, for struct sock_fprog. */
export function filter({ network, keep, arch }: FilterOptions): Buffer {
  const c = calls[arch];
  const program: Instruction[] = [
    load(ARCH),
    [EQUAL, c.audit, 1, 0],
    give(KILL),
    load(NUMBER),
    ...(arch === "x64" ? giveIf(X32, KILL, AT_LEAST) : []),
    ...c.refused.flatMap((nr) => giveIf(nr, fail(EPERM))),
    ...c.absent.flatMap((nr) => giveIf(nr, fail(ENOSYS))),
    ...c.kept.flatMap((nr) => forArgument(nr, 0, keep, EPERM)),
    ...forArgument(c.setpriority, 1, keep, EPERM),
    ...forArgument(c.ioctl, 1, [TIOCSTI, TIOCLINUX], EPERM),
    ...forCall(c.fcntl, [
      load(argument(1)),
      ...giveIf(F_SETSIG, fail(EPERM)),
      ...giveIf(F_SETOWN_EX, fail(EPERM)),
      [EQUAL, F_SETOWN, 1, 0],
      give(ALLOW),
      load(argument(2)),
      ...keep.flatMap((id) => giveIf(id, fail(EPERM))),
      give(ALLOW),
    ]),
    ...forArgument(c.pidfd_open, 1, [PIDFD_THREAD], EPERM, ANY_BIT),
    // Any thread stands for its process here, and Landlock is not asked: one's own limits only.
    ...forCall(c.prlimit64, [load(argument(0)), ...giveIf(0, ALLOW), give(fail(EPERM))]),
    ...(network === "tcp" ? tcpOnly(c) : []),
    ...(network === "open" ? [] : forCall(c.socket, sockets(network))),
    give(ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, operand, jumpTrue, jumpFalse], i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(jumpTrue, i * 8 + 2);
    bytes.writeUInt8(jumpFalse, i * 8 + 3);
    bytes.writeUInt32LE(operand, i * 8 + 4);
  });
  return bytes;
}

/** TCP Fast Open connects without connect(2), so that Landlock's ports do not see it. */
const tcpOnly = (c: Calls): Instruction[] => [
  ...forArgument(c.sendto, 3, [MSG_FASTOPEN], EOPNOTSUPP, ANY_BIT),
  ...forArgument(c.sendmsg, 2, [MSG_FASTOPEN], EOPNOTSUPP, ANY_BIT),
  ...forArgument(c.sendmmsg, 3, [MSG_FASTOPEN], EOPNOTSUPP, ANY_BIT),
];

/** Netlink stays: names of hosts and interfaces are looked up through it. */
function sockets(network: "none" | "tcp"): Instruction[] {
  const families = network === "none" ? [AF.unix, AF.netlink] : [AF.unix, AF.inet, AF.inet6, AF.netlink];
  return [
    ...(network === "tcp"
      ? [
          load(argument(2)),
          ...[IPPROTO_MPTCP, IPPROTO_SCTP].flatMap((protocol) => giveIf(protocol, fail(EPROTONOSUPPORT))),
        ]
      : []),
    load(argument(0)),
    ...families.flatMap((family) => giveIf(family, ALLOW)),
    give(fail(EAFNOSUPPORT)),
  ];
}
