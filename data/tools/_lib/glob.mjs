// Glob patterns: `*` `?` `[...]` `{a,b}` and `**` for any folders. The same rules in file_glob and in file_grep's `glob`.

/** A test of paths with `/`. A leading dot is matched only where the pattern writes one, unless `dots`. */
export function globTest(pattern, { dots = false } = {}) {
  const regex = new RegExp(
    `^(?:${expandBraces(pattern)
      .map((each) => source(each, dots))
      .join("|")})$`,
    "su",
  );
  return (path) => regex.test(path);
}

/** The folders at the start of a pattern that hold no wildcard: `src/lib` of `src/lib/*.js`. */
export function literalStart(pattern) {
  const parts = pattern.split("/");
  const first = parts.findIndex((part) => hasWildcard(part));
  return parts.slice(0, first < 0 ? parts.length - 1 : first).join("/");
}

export const hasWildcard = (pattern) => /[*?[{]/.test(pattern);

function source(pattern, dots) {
  const noDot = dots ? "" : "(?!\\.)";
  return pattern
    .split("/")
    .map((part, i, parts) => {
      const last = i === parts.length - 1;
      if (part === "**") return last ? `(?:${noDot}[^/]+/)*${noDot}[^/]+` : `(?:${noDot}[^/]+/)*`;
      return segment(part, noDot) + (last ? "" : "/");
    })
    .join("");
}

function segment(part, noDot) {
  let out = /^[*?[]/.test(part) ? noDot : "";
  for (let i = 0; i < part.length; i++) {
    const c = part[i];
    const close = c === "[" ? part.indexOf("]", i + 2) : -1;
    if (c === "*") out += out.endsWith("[^/]*") ? "" : "[^/]*";
    else if (c === "?") out += "[^/]";
    else if (close > 0) {
      const set = part.slice(i + 1, close).replace(/[\\[\]]/g, "\\$&");
      out += `[${set.replace(/^[!^]/, "^")}]`;
      i = close;
    } else if (c === "\\" && i + 1 < part.length) out += quoted(part[++i]);
    else out += quoted(c);
  }
  return out;
}

const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** `a{b,c}d` to `abd`, `acd`; nested ones too. More than 1,000 are an error. */
export function expandBraces(pattern) {
  const done = [];
  const todo = [pattern];
  while (todo.length > 0) {
    const next = todo.pop();
    const inner = /\{([^{}]*,[^{}]*)\}/.exec(next);
    if (!inner) done.push(next);
    else
      for (const choice of inner[1].split(","))
        todo.push(next.slice(0, inner.index) + choice + next.slice(inner.index + inner[0].length));
    if (done.length + todo.length > 1000)
      throw new Error("the braces of the pattern stand for more than 1000 patterns");
  }
  return done.reverse();
}
