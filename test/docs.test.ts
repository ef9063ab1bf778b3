/**
 * The manual's commands run. Of each page, the fences marked `sh run` are run in order by one shell, in a fresh home beside
 * a daemon with the scripted backend; those marked `ts run` are programs, compiled and run by the same shell. A fence marked
 * `text output` says what the fence before it printed; a line `…` there stands for any lines.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { build } from "./dist.ts";

const root = dirname(import.meta.dirname);
const dist = join(root, "dist");

interface Fence {
  line: number;
  command: string;
  output: string | undefined;
}

const docs = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);

const pages = ["README.md", ...docs]
  .map((page) => ({ page, fences: fencesOf(text(page)) }))
  .filter(({ fences }) => fences.length > 0);

beforeAll(build, 60_000);

it("the README is among the pages that are run", () => {
  expect(pages.map(({ page }) => page)).toContain("README.md");
});

it("programs have the right types", () => {
  const programs = docs.flatMap((page) =>
    [...text(page).matchAll(/^```ts run\n(.*?)^```$/gms)].map(([, code]) => code),
  );
  expect(programs.length).toBeGreaterThan(0);
  const dir = mkdtempSync("/tmp/ollie-d-");
  try {
    for (const [at, code] of programs.entries()) writeFileSync(join(dir, `${at}.mts`), code ?? "");
    const paths = {
      "ollie/tree": [join(root, "core/tree/index.ts")],
      "ollie/client": [join(root, "core/ninep/client.ts")],
      ollie: [join(root, "core/index.ts")],
    };
    const compilerOptions = { paths, typeRoots: [join(root, "node_modules/@types")] };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.mts"] };
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
    const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "."], { cwd: dir, encoding: "utf8" });
    // Those of ollie's own sources are found by npm run check.
    expect(stdout.split("\n").filter((line) => /^\d+\.mts/.test(line))).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

it("links lead somewhere", () => {
  const files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...docs];
  const links = files.flatMap((file) => linksOf(file).map((to) => ({ file, to })));
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter(({ file, to }) => !existsSync(join(root, dirname(file), to)))).toEqual([]);
});

describe.each(pages)("$page", ({ fences }) => {
  let dir: string;
  let env: Record<string, string>;

  beforeAll(() => {
    dir = mkdtempSync("/tmp/ollie-d-");
    for (const name of ["bin", "ns", "work", "node_modules"]) mkdirSync(join(dir, name), { mode: 0o700 });
    symlinkSync(root, join(dir, "node_modules/ollie"));
    symlinkSync(join(dist, "core/bin/olliesrv.js"), join(dir, "bin/olliesrv"));
    symlinkSync(join(dist, "bin/ollie-9p.cjs"), join(dir, "bin/ollie-9p"));
    writeFileSync(join(dir, "work/notes.txt"), "buy milk\n");
    env = {
      PATH: `${join(dir, "bin")}:${process.env.PATH}`,
      HOME: dir,
      TMPDIR: dir,
      NAMESPACE: join(dir, "ns"),
      OLLIE_BACKEND: "script",
    };
    expect(sh("olliesrv start")).toMatchObject({ status: 0 });
  });
  afterAll(() => {
    expect(sh("olliesrv stop")).toMatchObject({ status: 0 });
    rmSync(dir, { recursive: true, force: true });
  });

  it("runs, and prints what it says", () => {
    // A record separator before each command tells where its output starts, and how far the shell came.
    const script = fences.map(({ command }) => `printf '\\036'\n${command}`).join("\n");
    const { status, stdout, stderr } = sh(`set -e\n${script}`);
    const outputs = stdout.split("\u001e").slice(1);
    expect(status, `line ${fences[outputs.length - 1]?.line}: ${stderr}`).toBe(0);
    for (const [at, { line, output }] of fences.entries()) {
      if (output !== undefined) expect(outputs[at], `line ${line}`).toMatch(pattern(output));
    }
  }, 60_000);

  function sh(script: string) {
    return spawnSync("sh", ["-c", script], { cwd: join(dir, "work"), env, encoding: "utf8", timeout: 50_000 });
  }
});

function text(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

/** Relative links, without their fragments. */
function linksOf(page: string): string[] {
  const found = [...text(page).matchAll(/\]\(([^)\s#]+)/g)].map((match) => match[1] ?? "");
  return found.filter((to) => to !== "" && !/^[a-z]+:/.test(to));
}

function fencesOf(page: string): Fence[] {
  const fences: Fence[] = [];
  for (const match of page.matchAll(/^```(sh run|ts run|text output)\n(.*?)^```$/gms)) {
    const [, kind, text = ""] = match;
    const last = fences.at(-1);
    if (kind !== "text output") {
      const line = page.slice(0, match.index).split("\n").length + 1;
      fences.push({ line, command: kind === "ts run" ? program(text) : text, output: undefined });
    } else if (last === undefined || last.output !== undefined) throw new Error("an output fence without its command");
    else last.output = text;
  }
  return fences;
}

/** A command that runs a TypeScript program with the package as built, like a project that has installed it. */
function program(contents: string): string {
  const { code } = transformSync(contents, { loader: "ts", target: "node20" });
  return `node --input-type=module - <<'END OF PROGRAM'\n${code}\nEND OF PROGRAM\n`;
}

function pattern(output: string): RegExp {
  const lines = output.split(/^…\n/m).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${lines.join("(?:.*\\n)*?")}$`);
}
