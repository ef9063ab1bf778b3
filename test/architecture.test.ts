/** The rules of the layout, each shown to fail where it is broken. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = dirname(import.meta.dirname);

describe("Biome finds", () => {
  const heavy = ["zod", "pino", "jiti", "execa", "yaml", "openai", "@anthropic-ai/sdk", "ollama"];
  const core = "core imports tapable and node: only";
  const plugin = "a plugin imports #core, #plugins/<name> (its types.ts), libraries and files of its own folder";
  const imports = (specifier: string) => `export { it } from "${specifier}";\n`;

  /** [what, file, its text, the message that must come]. */
  const planted: [string, string, string, string][] = [
    ["a plugin that reaches into another", "plugins/a/index.ts", imports("../b/index.ts"), plugin],
    ["a plugin that reaches into core", "plugins/a/deep.ts", imports("../../core/kernel.ts"), plugin],
    ["a plugin that imports a factory", "plugins/a/self.ts", imports("ollie/plugins/b"), "inside of the package it is"],
    ["o in the kernel", "plugins/o/main.ts", imports("#core"), "o is a program of its own"],
    ["core that names a plugin", "core/one.ts", imports("#plugins/agent"), "the kernel knows no plugin"],
    ["core that reaches a plugin", "core/two.ts", imports("../plugins/agent/index.ts"), "the kernel knows no plugin"],
    ...heavy.map((name, at): [string, string, string, string] => {
      return [`core that imports ${name}`, `core/heavy${at}.ts`, imports(name), core];
    }),
    ["core that imports lazily", "core/lazy.ts", 'export const it = await import("zod");\n', core],
    ["zod in the config loader", "core/config/load.ts", imports("zod"), core],
    ["a tree that knows 9P", "core/tree/nine.ts", imports("../ninep/codec.ts"), "the tree knows no protocol"],
    ["a tree that imports zod", "core/tree/heavy.ts", imports("zod"), core],
    ["an import cycle", "core/ring.ts", 'export { a } from "./ring2.ts";\nexport const b = 1;\n', "part of a cycle"],
    ["any", "plugins/a/any.ts", "export const it: any = 1;\n", "Unexpected any"],
  ];
  const clean: [string, string][] = [
    ["core/ring2.ts", 'export { b } from "./ring.ts";\nexport const a = 1;\n'],
    ["core/ok.ts", 'export { SyncHook } from "tapable";\nexport { join } from "node:path";\n'],
    ["core/config/jiti.ts", ""],
    ["plugins/a/ok.ts", 'export { it } from "#plugins/b";\nexport { leaf } from "#core";\nexport { z } from "zod";\n'],
  ];
  let found: { file: string; message: string }[];
  let dir: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "ollie-rules-"));
    for (const name of ["biome.json", ".gitignore"]) cpSync(join(root, name), join(dir, name));
    for (const [file, text] of [...planted.map(([, f, t]) => [f, t] as const), ...clean]) {
      mkdirSync(dirname(join(dir, file)), { recursive: true });
      writeFileSync(join(dir, file), text);
    }
    const biome = join(root, "node_modules/.bin/biome");
    const options = ["lint", "--reporter=json", "--colors=off", "--max-diagnostics=none", "."];
    const { stdout } = spawnSync(biome, options, { cwd: dir, encoding: "utf8" });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { message: string; location: { path: string } }[] };
    found = diagnostics.map(({ message, location }) => ({ file: normalize(location.path), message }));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it.each(planted)("%s", (_what, file, _text, message) => {
    expect(found.filter((f) => f.file === file).map((f) => f.message)).toEqual([expect.stringContaining(message)]);
  });

  it("nothing in files that keep the rules", () => {
    const fine = found.filter(({ file }) => clean.some(([name]) => name === file && name !== "core/ring2.ts"));
    expect(fine).toEqual([]);
  });
});

describe("core", () => {
  const files = sources("core");

  it("imports nothing but itself, node: and tapable (jiti in its loader)", () => {
    const outside = files.flatMap((file) => imported(file).map((specifier) => ({ file, specifier })));
    expect(outside.length).toBeGreaterThan(50);
    const wrong = outside.filter(({ file, specifier }) => {
      if (specifier.startsWith("node:")) return false;
      if (specifier.startsWith(".")) return !normalize(join(dirname(file), specifier)).startsWith("core/");
      if (specifier === "tapable") return file !== "core/hooks.ts";
      return !(specifier === "jiti" && file === "core/config/load.ts");
    });
    expect(wrong).toEqual([]);
  });

  // docs/decisions/010-core-size.md says where these numbers come from.
  it.each([
    ["the kernel", (file: string) => !/^core\/(tree|ninep|bin)\//.test(file), 1800],
    ["the tree", (file: string) => file.startsWith("core/tree/"), 1900],
    ["the transport and its client", (file: string) => file.startsWith("core/ninep/"), 2100],
    ["the programs", (file: string) => file.startsWith("core/bin/"), 820],
  ])("%s stays small enough to be read in one sitting", (_part, belongs, limit) => {
    const lines = files.filter(belongs).map(codeLines);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(limit);
  });

  it("is small when embedded: tapable only, below 100 kB minified, without client and programs", async () => {
    const { metafile, outputFiles } = await build({
      absWorkingDir: root,
      entryPoints: ["core/index.ts"],
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      conditions: ["source"],
      metafile: true,
      write: false,
    });
    const inputs = Object.keys(metafile.inputs);
    const packages = new Set(inputs.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []));
    expect([...packages]).toEqual(["tapable"]);
    expect(inputs.filter((file) => file.startsWith("core/bin/") || file === "core/ninep/client.ts")).toEqual([]);
    expect(outputFiles[0]?.contents.length).toBeLessThan(100_000);
  });
});

describe("plugins", () => {
  it("import only what they may", () => {
    const all = sources("plugins").flatMap((file) => imported(file).map((specifier) => ({ file, specifier })));
    expect(all.length).toBeGreaterThan(50);
    const wrong = all.filter(({ specifier }) => specifier.startsWith("..") || /^ollie(\/|$)/.test(specifier));
    expect(wrong).toEqual([]);
  });

  it("load SDKs lazily: none is imported statically", () => {
    const eager = sources("plugins").filter((file) =>
      /^import (?!type\b)[^;]*from "(openai|@anthropic-ai\/sdk|ollama|@smithy\/core|yaml|execa|koffi|pino)["/]/m.test(
        read(file),
      ),
    );
    expect(eager).toEqual([]);
  });
});

it("no file has more than 400 lines without saying why at its top", () => {
  const files = sources("core", "plugins", "test", "data");
  expect(files.length).toBeGreaterThan(50);
  const long = files.filter((file) => lineCount(file) > 400 && !/\bsize:/.test(read(file).slice(0, 600)));
  expect(long).toEqual([]);
});

function sources(...dirs: string[]): string[] {
  return dirs
    .flatMap((dir) =>
      readdirSync(join(root, dir), { recursive: true, encoding: "utf8" }).map((file) => `${dir}/${file}`),
    )
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .sort();
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function lineCount(file: string): number {
  return read(file).split("\n").length - 1;
}

/** Specifiers of static, dynamic and type imports. */
function imported(file: string): string[] {
  const found = read(file).matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"\n]+)"/g);
  return [...found].flatMap((match) => match[1] ?? []);
}

/** Lines that are neither blank nor comment. */
function codeLines(file: string): number {
  const code = read(file).replace(/\/\*[\s\S]*?\*\//g, "");
  return code.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length;
}
