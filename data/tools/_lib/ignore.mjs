// Ignore rules: .gitignore and .ignore files, .git/info/exclude. The patterns are those of gitignore(5).
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { globTest } from "./glob.mjs";

/** Rules that hold in `dir` because of the folders above it, up to the repository's root. */
export function rulesAbove(dir) {
  const chain = [];
  for (let at = dir; ; at = dirname(at)) {
    if (at !== dir) chain.push(at);
    if (existsSync(join(at, ".git"))) {
      const rules = [...parse(join(at, ".git", "info", "exclude"), at)];
      return [...rules, ...chain.reverse().flatMap((above) => rulesIn(above))];
    }
    if (at === dirname(at)) return [];
  }
}

/** Rules of the ignore files in `dir` itself. */
export function rulesIn(dir, names = [".gitignore", ".ignore"]) {
  return names.flatMap((name) => parse(join(dir, name), dir));
}

/** Whether the last rule that fits says so. */
export function isIgnored(rules, path, isDirectory) {
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i];
    if (rule.folders && !isDirectory) continue;
    if (path.startsWith(rule.base) && rule.test(path.slice(rule.base.length))) return rule.ignore;
  }
  return false;
}

function parse(file, dir) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  return text.split(/\r?\n/).flatMap((line) => {
    let pattern = line.replace(/(?<!\\)\s+$/, "");
    if (pattern === "" || pattern.startsWith("#")) return [];
    const ignore = !pattern.startsWith("!");
    if (!ignore) pattern = pattern.slice(1);
    const folders = pattern.endsWith("/");
    pattern = pattern.replace(/\/+$/, "").replace(/^\\([!#])/, "$1");
    const anchored = pattern.includes("/");
    pattern = pattern.replace(/^\//, "");
    if (pattern === "") return [];
    // Braces mean nothing in gitignore(5).
    const literal = pattern.replace(/[{}]/g, "\\$&");
    try {
      const test = globTest(anchored ? literal : `**/${literal}`, { dots: true });
      return [{ base: dir === "/" ? "/" : `${dir}/`, test, folders, ignore }];
    } catch {
      return [];
    }
  });
}
