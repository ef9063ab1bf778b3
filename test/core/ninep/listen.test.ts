/** Where the tree is served: H-094 and H-095 for the socket, with real sockets and a real killed process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKernel, type Kernel } from "#core";
import { clientOver, connect as dial } from "#core/client";

let folder: string;
let kernels: Kernel[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "o-"));
  kernels = [];
});
afterEach(async () => {
  for (const kernel of kernels) await kernel.close();
  rmSync(folder, { recursive: true, force: true });
});

async function listen(path: string): Promise<Kernel> {
  const kernel = createKernel({ plugins: [] });
  kernels.push(kernel);
  await kernel.start();
  await kernel.listen({ unix: path });
  return kernel;
}

async function connects(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe("a socket path", () => {
  test("H-094: what a killed server left is taken over", async () => {
    const path = join(folder, "ollie");
    const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(path)).toBe(true);
    await listen(path);
    expect(await connects(path)).toBe(true);
  });

  test("H-094: a plain file and a directory are refused and left alone", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "mine");
    await expect(listen(file)).rejects.toThrow(`${file} exists and is not a socket: it was left alone`);
    expect(readFileSync(file, "utf8")).toBe("mine");
    const directory = join(folder, "directory");
    mkdirSync(directory);
    await expect(listen(directory)).rejects.toThrow("is not a socket");
    expect(statSync(directory).isDirectory()).toBe(true);
  });

  test("a live server is refused, and goes on", async () => {
    const path = join(folder, "ollie");
    await listen(path);
    await expect(listen(path)).rejects.toThrow(`${path} is served by a running daemon`);
    expect(await connects(path)).toBe(true);
  });

  test("H-095: folder 0700 and socket 0600 whatever the umask", async () => {
    const mask = process.umask(0);
    try {
      const path = join(folder, "ns", "ollie");
      await listen(path);
      expect((statSync(join(folder, "ns")).mode & 0o777).toString(8)).toBe("700");
      expect((statSync(path).mode & 0o777).toString(8)).toBe("600");
    } finally {
      process.umask(mask);
    }
  });

  test("a folder that others can enter is refused, and its mode is left alone", async () => {
    const open = join(folder, "open");
    mkdirSync(open, { mode: 0o755 });
    await expect(listen(join(open, "ollie"))).rejects.toThrow(/is open to other users \(mode 755\)/);
    expect((statSync(open).mode & 0o777).toString(8)).toBe("755");
  });

  test("one that the kernel would cut is refused", async () => {
    await expect(listen(join(folder, "x".repeat(100)))).rejects.toThrow(/more than 100/);
  });

  test("it goes with the server", async () => {
    const path = join(folder, "ollie");
    const kernel = await listen(path);
    await kernel.close();
    expect(existsSync(path)).toBe(false);
  });
});

describe("tcp", () => {
  test("on loopback only", async () => {
    const kernel = createKernel({ plugins: [] });
    kernels.push(kernel);
    await kernel.start();
    await expect(kernel.listen({ tcp: { host: "0.0.0.0", port: 0 } })).rejects.toThrow("is not a loopback address");
    const { address } = await kernel.listen({ tcp: { port: 0 } });
    expect(address).toMatch(/^tcp!127\.0\.0\.1!\d+$/);
    const client = await dial(address);
    expect(await client.ls("/")).toEqual([]);
    await client.close();
  });
});

test("any pair of streams is a transport", async () => {
  const kernel = createKernel({ plugins: [] });
  kernels.push(kernel);
  await kernel.start();
  const [there, back] = [new PassThrough(), new PassThrough()];
  kernel.serve(Duplex.from({ readable: there, writable: back }));
  const client = await clientOver(Duplex.from({ readable: back, writable: there }));
  expect((await client.stat("/")).name).toBe("/");
  expect(await client.ls("/")).toEqual([]);
  await client.close();
});
