// Runs inside of a sandbox and tries to get out of it. Prints a JSON object: what was tried, and "allowed" or why not. What
// works all the same must do no harm: it runs as root, too, where nothing but the sandbox on trial keeps it.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";

const given = JSON.parse(process.argv[2]);
const koffi = createRequire(given.package)("koffi");
const libc = koffi.load(null);
const x64 = process.arch === "x64";
const syscall = libc.func("long syscall(long n, intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e)");
const withBuffer = libc.func(
  "long syscall(long n, const void *a, const void *b, const void *c, intptr_t d, intptr_t e)",
);
const sendto = libc.func("long sendto(int fd, const void *b, size_t n, int flags, const void *to, uint len)");
const makeSocket = libc.func("int socket(int domain, int type, int protocol)");
const socket = (...kind) => {
  const fd = makeSocket(...kind);
  if (fd < 0) throw Object.assign(new Error(), { code: errnoName() });
  return fd;
};
const connect = libc.func("int connect(int fd, const void *to, uint len)");
const bind = libc.func("int bind(int fd, const void *to, uint len)");
const listen = libc.func("int listen(int fd, int n)");
const results = {};

/** `attempt` returns a number below 0 with errno set, or throws, where it was refused. */
const tried = (name, attempt) => {
  try {
    const got = Number(attempt() ?? 0);
    results[name] = got < 0 ? errnoName() : "allowed";
  } catch (error) {
    results[name] = error.code ?? String(error);
  }
};
const errnoName = () =>
  Object.entries(koffi.os.errno).find(([, n]) => n === koffi.errno())?.[0] ?? `errno ${koffi.errno()}`;
const address = (port) => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(2, 0);
  bytes.writeUInt16BE(port, 2);
  bytes.writeUInt32BE(0x7f000001, 4);
  return bytes;
};

/** The tool server: the nearest ancestor that runs its program. Its pid as it is seen from here. */
function toolsrv() {
  for (let pid = process.ppid; pid > 1; ) {
    const line = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    if (fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(given.entry)) return pid;
    pid = Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[1]);
  }
  return undefined;
}

const server = toolsrv();
const threads = server === undefined ? [] : fs.readdirSync(`/proc/${server}/task`).map(Number);
const secret = `${given.outside}/secret`;

// Files
tried("read outside", () => fs.readFileSync(secret).length);
tried("list outside", () => fs.readdirSync(given.outside).length);
tried("write outside", () => fs.writeFileSync(`${given.outside}/new`, "x"));
tried("truncate outside", () => libc.func("int truncate(const char *p, long n)")(secret, 0));
tried("link outside", () => fs.linkSync(secret, "stolen"));
tried("rename to outside", () => {
  fs.writeFileSync("mine", "x");
  fs.renameSync("mine", `${given.outside}/mine`);
});
tried("read through a link", () => {
  fs.symlinkSync(secret, "alias");
  return fs.readFileSync("alias").length;
});
tried("read the daemon's keys", () => fs.readFileSync(`${given.cfg}/env`).length);
tried("widen the profile", () => fs.writeFileSync(`${given.cfg}/sandbox/default.yaml`, "unconfined: true\n"));
tried("trust a project", () => fs.writeFileSync(`${given.cfg}/trusted`, "x"));
tried("add an agent config", () => fs.writeFileSync(`${given.cfg}/agents/evil.json`, "{}"));
tried("change a saved session", () => fs.appendFileSync(given.saved, "x"));
tried("read a saved session", () => fs.readFileSync(given.saved).length);
tried("remove the session's temporary folder", () => fs.rmdirSync(process.env.OLLIE_TMPDIR));
tried("put a link in its place", () => fs.renameSync(process.env.OLLIE_TMPDIR, `${process.env.OLLIE_TMPDIR}-moved`));
tried("move the working directory", () => fs.renameSync(process.cwd(), `${process.cwd()}-moved`));
tried("add a tool", () => fs.writeFileSync(`${given.cfg}/tools/evil`, "x"));
tried("change ollie", () => fs.openSync(given.package, "a"));
tried("stat outside", () => fs.statSync(secret).size);
tried("chmod outside", () => fs.chmodSync(secret, 0o644));
tried("write a git hook", () => fs.writeFileSync(".git/hooks/pre-commit", "x"));
tried("swap a link between check and use", () => {
  fs.mkdirSync("inner");
  fs.writeFileSync("inner/secret", "fine");
  let read = "";
  for (let i = 0; i < 400; i++) {
    fs.rmSync("swap", { force: true });
    fs.symlinkSync(i % 2 ? given.outside : "inner", "swap");
    try {
      read += fs.readFileSync("swap/secret", "utf8");
    } catch {}
  }
  if (!read.includes("s3cret")) throw Object.assign(new Error(), { code: "never" });
});
tried("execute a file that is only readable", () => execFileSync(given.readOnlyProgram, { stdio: "ignore" }));
tried("ld.so runs it", () => {
  const loader = fs.readdirSync("/lib64").find((name) => name.startsWith("ld-linux"));
  execFileSync(`/lib64/${loader}`, [given.readOnlyProgram], { stdio: "ignore" });
});

// Processes
for (const [name, pid] of [
  ["the daemon", given.daemon],
  ["toolsrv", server ?? 1],
]) {
  tried(`signal ${name}`, () => process.kill(pid, 0));
  for (const file of ["environ", "maps", "mem", "root/etc", "fd/0", "cwd/x"]) {
    const path = `/proc/${pid}/${file}`;
    tried(`/proc of ${name}: ${file}`, () =>
      file === "root/etc" ? fs.readdirSync(path).length : fs.openSync(path, "r"),
    );
  }
  tried(`ptrace ${name}`, () => syscall(x64 ? 101 : 117, 0x4206, pid, 0, 0, 0));
  tried(`process_vm_writev ${name}`, () => syscall(x64 ? 311 : 271, pid, 0, 0, 0, 0));
}
for (const tid of threads) {
  const say = (what, attempt) => {
    const before = results[what];
    tried(what, attempt);
    if (before === "allowed") results[what] = before;
  };
  say("tgkill a thread of toolsrv", () => syscall(x64 ? 234 : 131, server, tid, 0, 0, 0));
  say("tkill a thread of toolsrv", () => syscall(x64 ? 200 : 130, tid, 0, 0, 0, 0));
  say("kill a thread of toolsrv", () => process.kill(tid, 0));
  say("pidfd of a thread of toolsrv", () => syscall(434, tid, 0o200, 0, 0, 0));
  say("signal by the folder of a thread", () => syscall(424, fs.openSync(`/proc/${tid}`, "r"), 0, 0, 1, 0));
  say("signal by the folder of a thread, all", () => syscall(424, fs.openSync(`/proc/${tid}`, "r"), 0, 0, 0, 0));
  say("memory of a thread of toolsrv", () => fs.openSync(`/proc/${server}/task/${tid}/mem`, "r+"));
  say("environ of a thread of toolsrv", () => fs.readFileSync(`/proc/${server}/task/${tid}/environ`).length - 1);
  say("limits of toolsrv", () => syscall(x64 ? 302 : 261, tid, 7, 0, 0, 0));
}
tried("a key in the environment of any process", () => {
  const all = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  // In another form: our own environment has it, too.
  const key = Buffer.from(given.key, "base64").toString();
  const found = all.some((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(key);
    } catch {
      return false;
    }
  });
  if (!found) throw Object.assign(new Error(), { code: "none" });
});
tried("io_uring", () => withBuffer(425, Buffer.from([1]), Buffer.alloc(120), null, 0, 0));
tried("keyring", () => {
  const id = withBuffer(x64 ? 248 : 217, Buffer.from("user\0"), Buffer.from("n\0"), Buffer.from("x"), 1, -4);
  if (id >= 0) syscall(x64 ? 250 : 219, 9, id, -4, 0, 0);
  return id;
});
tried("mount", () => {
  fs.mkdirSync("mounted");
  const mount = libc.func("int mount(const char *a, const char *b, const char *c, ulong d, const void *e)");
  const got = mount("x", "mounted", "tmpfs", 0, null);
  if (got === 0) execFileSync("umount", ["mounted"]);
  return got;
});
tried("setuid root", () => {
  if (process.getuid() === 0) throw Object.assign(new Error(), { code: "is root" });
  process.setuid(0);
});
tried("capabilities", () => {
  if (/^CapEff:\t0+$/m.test(fs.readFileSync("/proc/self/status", "utf8")))
    throw Object.assign(new Error(), { code: "none" });
});
results.descriptors = fs.readdirSync("/proc/self/fd").filter((fd) => {
  try {
    return (
      Number(fd) > 2 && !/^(anon_inode|pipe|socket|\/dev\/null|\/proc)/.test(fs.readlinkSync(`/proc/self/fd/${fd}`))
    );
  } catch {
    return false;
  }
});

// Network
const tcp = (protocol = 0) => socket(2, 1, protocol);
tried("TCP connect", () => connect(tcp(), address(given.port), 16));
tried("TCP bind", () => bind(tcp(), address(given.bindPort), 16));
tried("TCP listen without bind", () => listen(tcp(), 1));
tried("MPTCP connect", () => connect(tcp(262), address(given.port), 16));
tried("TCP fast open", () => sendto(tcp(), Buffer.from("x"), 1, 0x20000000, address(given.port), 16));
tried("UDP", () => sendto(socket(2, 2, 0), Buffer.from("x"), 1, 0, address(given.port), 16));
tried("write to the daemon by an inherited descriptor", () => fs.writeSync(3, "x"));
tried("packet socket", () => socket(17, 3, 0));
tried("vsock", () => socket(40, 1, 0));
tried("terminal input", () => {
  const fd = fs.openSync("/dev/ptmx", "r+");
  return libc.func("int ioctl(int fd, ulong n, const void *p)")(fd, 0x5412, Buffer.from("x"));
});

const unix = (name, path) =>
  new Promise((resolve) => {
    const link = net.connect(path, () => resolve("allowed")).on("error", (error) => resolve(error.code));
    link.unref();
  }).then((result) => {
    results[name] = result;
  });
await unix("socket in the file system", given.socket);
await unix("abstract socket", given.abstract);
process.stdout.write(JSON.stringify(results));
process.exit(0);
