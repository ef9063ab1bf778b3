import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Place, place } from "./script.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.remove());
const read = (file_path: string, more = {}) => at.run("file_read", { file_path, ...more });

describe("file_read", () => {
  test("H-050: very long lines, empty files, and offsets past the end", async () => {
    writeFileSync(at.path("min.js"), `${"x".repeat(2_500_000)}needle${"y".repeat(2_500_000)}`);
    const long = await read("min.js");
    expect(long.out).toMatch(/^ {4}1\| x{2000}\.\.\. \[cut at column 2000 of 5000006\]\n$/);
    writeFileSync(at.path("empty"), "");
    expect(await read("empty")).toEqual({ code: 0, out: "(empty file)\n" });
    writeFileSync(at.path("three"), "1\n2\n3\n");
    expect(await read("three", { offset: 9 })).toEqual({
      code: 1,
      out: "offset 9 is past the end, three has 3 lines\n",
    });
  });

  test("gives a part, and says how to go on", async () => {
    writeFileSync(at.path("f"), Array.from({ length: 5000 }, (_, i) => `line ${i + 1}\n`).join(""));
    expect((await read("f", { offset: 10, limit: 2 })).out).toBe(
      "   10| line 10\n   11| line 11\n[lines 10 to 11 of 5000; go on with offset=12]\n",
    );
    expect((await read("f")).out).toContain("[lines 1 to 2000 of 5000; go on with offset=2001]");
    writeFileSync(at.path("wide"), Array.from({ length: 200 }, () => "w".repeat(1500)).join("\n"));
    const wide = (await read("wide")).out;
    expect(wide.length).toBeLessThan(70_000);
    expect(wide).toMatch(/\[lines 1 to \d+ of 200; go on with offset=\d+\]/);
  });

  test("says which line ends there are, and shows a lone return as it is", async () => {
    writeFileSync(at.path("crlf"), "a\r\nb\r\n");
    writeFileSync(at.path("mixed"), "a\r\nb\nc\rd");
    expect((await read("crlf")).out).toBe("    1| a\n    2| b\n[line ends: CRLF]\n");
    expect((await read("mixed")).out).toBe("    1| a\n    2| b\n    3| c\rd\n[line ends: mixed]\n");
  });

  test("H-052: special files are errors, at once", async () => {
    execFileSync("mkfifo", [at.path("fifo")]);
    mkdirSync(at.path("dir"));
    const server = createServer().listen(at.path("sock"));
    await new Promise((resolve) => server.once("listening", resolve));
    const roots = { OLLIE_ROOTS: "/dev:/proc" };
    expect((await read("fifo")).out).toBe("fifo is a FIFO, not a regular file\n");
    expect((await read("dir")).out).toBe("dir is a directory, not a regular file\n");
    expect((await read("sock")).out).toBe("sock is a socket, not a regular file\n");
    expect((await at.run("file_read", { file_path: "/dev/zero" }, roots)).out).toContain("is a device");
    expect((await at.run("file_read", { file_path: "/proc/self/mem" }, roots)).code).toBe(1);
    expect((await at.run("file_edit", { file_path: "fifo", old_string: "a", new_string: "b" })).code).toBe(1);
    expect((await at.run("file_write", { file_path: "fifo", content: "b" })).code).toBe(1);
    server.close();
  });

  test("binary files and large ones are said to be", async () => {
    writeFileSync(at.path("bin"), Buffer.from([1, 2, 0, 3]));
    writeFileSync(at.path("big"), Buffer.alloc(9 << 20, "a"));
    expect((await read("bin")).out).toBe("bin is a binary file of 4 bytes\n");
    expect((await read("big")).out).toContain("more than the 8388608 that file tools read");
    expect((await read("absent")).out).toBe("absent does not exist\n");
  });

  test("arguments that are wrong are one sentence", async () => {
    expect((await read("f", { offset: 0 })).out).toBe("offset must be a whole number of at least 1\n");
    expect((await at.run("file_read", {})).out).toBe("file_path is missing\n");
    expect((await read("a\0b")).out).toBe("the path holds a NUL character\n");
    expect((await read("")).out).toBe("the path is empty\n");
  });
});
