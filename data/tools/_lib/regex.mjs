// Compiles search patterns: JavaScript regular expressions in Unicode mode, with what models write in habit made to fit.

/** Escapes that mean something else in other dialects: refused, since they would silently find nothing. */
const foreign = {
  "<": "\\< is not known here, use \\b",
  ">": "\\> is not known here, use \\b",
  A: "\\A is not known here, use ^",
  z: "\\z is not known here, use $",
  Z: "\\Z is not known here, use $",
  h: "\\h is not known here, use [ \\t]",
  Q: "\\Q is not known here, use literal: true",
};

/** Throws an Error that names the fault. Flags: i, and s and m for patterns over several lines. */
export function compile(pattern, { literal = false, ignoreCase = false, multiline = false }) {
  let flags = multiline ? "gums" : "gu";
  let source = literal ? pattern.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") : pattern;
  const inline = literal ? null : /^\(\?([ims]+)\)/.exec(source);
  if (inline) {
    source = source.slice(inline[0].length);
    for (const flag of inline[1]) if (!flags.includes(flag) && flag !== "i") flags += flag;
  }
  if (ignoreCase || inline?.[1].includes("i")) flags += "i";
  if (!literal) source = adapted(source);
  try {
    return new RegExp(source, flags);
  } catch (error) {
    const reason = error.message.replace(/^Invalid regular expression: /, "").replace(/^.*: /, "");
    throw new Error(`the pattern ${pattern} is no regular expression: ${reason[0].toLowerCase()}${reason.slice(1)}`);
  }
}

/** Drops escapes that Unicode mode refuses though their meaning is plain (`\"`), and takes lone braces as themselves. */
function adapted(source) {
  let out = "";
  let inSet = false;
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (c === "\\" && i + 1 < source.length) {
      const next = source[++i];
      if (!inSet && Object.hasOwn(foreign, next)) throw new Error(foreign[next]);
      const needless = /[ !"#%&',:;=@_`~<>-]/.test(next) && !(next === "-" && inSet);
      out += needless ? next : c + next;
    } else if (inSet) {
      if (/^\[:\w+:\]/.test(source.slice(i))) throw new Error("[:class:] is not known here, use \\w, \\d or \\s");
      if (c === "]") inSet = false;
      out += c === "[" ? "\\[" : c;
    } else if (c === "[") {
      inSet = true;
      out += c;
    } else if (c === "{") {
      const counted = /^\{\d+(,\d*)?\}/.exec(source.slice(i));
      out += counted && out !== "" ? counted[0] : "\\{";
      if (counted && out !== "\\{") i += counted[0].length - 1;
    } else out += c === "}" || c === "]" ? `\\${c}` : c;
  }
  return out;
}
