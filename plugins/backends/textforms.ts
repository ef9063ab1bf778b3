/** The forms in which models write a tool call as text, each read from the beginning of a line. */
import type { ToolSchema } from "#plugins/backends";

export interface TextCall {
  name: string;
  /** JSON of an object; undefined where the arguments did not parse. */
  args: string | undefined;
}
export interface Block {
  /** All characters that it takes. */
  text: string;
  calls: TextCall[];
}
/** `more`: whether it is one shows in what follows. undefined: it is none. */
export type Reading = Block | "more" | undefined;

type Tools = ReadonlyMap<string, ToolSchema>;
type Form = (text: string, tools: Tools, over: boolean) => Reading;

/** The first characters that a block can have: at a line with another one, nobody has to look further. */
export const openersOf = (tools: Tools): ReadonlySet<string | undefined> =>
  new Set(["<", "[", "`", "{", ...[...tools.keys()].map((name) => name[0])]);

/** The block that `text` begins with; `over`: nothing follows `text`. */
export function blockAt(text: string, tools: Tools, over: boolean): Reading {
  let waits = false;
  for (const form of forms) {
    const reading = form(text, tools, over);
    if (reading === "more") waits = true;
    else if (reading?.calls.every(({ name }) => tools.has(name))) return reading;
  }
  return waits && !over ? "more" : undefined;
}

/** Whether `text` begins with `opener` behind white space; `more` where it is too short to tell. */
function opens(text: string, opener: string): boolean | "more" {
  const start = text.trimStart();
  if (start.startsWith(opener)) return true;
  return opener.startsWith(start) ? "more" : false;
}

/** <tool_call>{…}</tool_call>; the end tag may be missing where the reply ends. */
const tagged: Form = (text, tools, over) => {
  const tag = "<tool_call>";
  const opened = opens(text, tag);
  if (opened !== true) return opened || undefined;
  const start = text.indexOf(tag) + tag.length;
  const close = "</tool_call>";
  let first: Block | undefined;
  // The end tag may stand in an argument: the first end that makes sense counts.
  for (let at = text.indexOf(close, start); at >= 0; at = text.indexOf(close, at + 1)) {
    const block = inTag(text.slice(start, at), text.slice(0, at + close.length), tools);
    if (block?.calls.every(({ args }) => args !== undefined)) return block;
    first ??= block;
  }
  if (!over) return "more";
  return first ?? inTag(text.slice(start), text, tools);
};

function inTag(body: string, text: string, tools: Tools): Block | undefined {
  if (/^\s*<function=/.test(body)) {
    const block = functionTag(body, tools, true);
    return typeof block === "object" ? { text, calls: block.calls } : undefined;
  }
  const calls = callsOf(body);
  if (calls) return { text, calls };
  const name = /"name"\s*:\s*"([^"]+)"/.exec(body)?.[1];
  return name === undefined ? undefined : { text, calls: [{ name, args: undefined }] };
}

/** <function=name><parameter=key>value</parameter></function> */
const functionTag: Form = (text, tools, over) => {
  const opened = opens(text, "<function=");
  if (opened !== true) return opened || undefined;
  const end = text.indexOf("</function>");
  if (end < 0 && !over) return "more";
  const name = /<function=([^>\s]+)>/.exec(text)?.[1];
  if (name === undefined) return undefined;
  if (end < 0) return { text, calls: [{ name, args: undefined }] };
  const properties = (tools.get(name)?.parameters.properties ?? {}) as Record<string, { type?: unknown } | undefined>;
  const args: Record<string, unknown> = {};
  const body = text.slice(text.indexOf(">", text.indexOf("<function=")) + 1, end);
  const left = body.replace(
    /<parameter=([^>\s]+)>\n?([\s\S]*?)\n?<\/parameter>/g,
    (_, key: string, value: string): string => {
      args[key] = properties[key]?.type === "string" ? value : (parsed(value) ?? value);
      return "";
    },
  );
  const whole = left.trim() === "";
  const calls = [{ name, args: whole ? JSON.stringify(args) : undefined }];
  return { text: text.slice(0, end + "</function>".length), calls };
};

/** [TOOL_CALLS][{…}] */
const listed: Form = (text, _, over) => {
  const tag = "[TOOL_CALLS]";
  const opened = opens(text, tag);
  if (opened !== true) return opened || undefined;
  const calls = callsOf(text.slice(text.indexOf(tag) + tag.length));
  if (calls) return { text, calls };
  return over ? undefined : "more";
};

/** A fenced block with JSON and nothing else. */
const fenced: Form = (text, _, over) => {
  const opened = opens(text, "```");
  if (opened !== true) return opened || undefined;
  const head = /^\s*```[ \t]*(?:json|tool_call|tool_code|tool)?[ \t]*\r?\n/.exec(text);
  if (!head) return text.includes("\n") || over ? undefined : "more";
  const end = /\n[ \t]*```[ \t]*(?:\r?\n|$)/.exec(text.slice(head[0].length - 1));
  if (!end) return mayBeCall(text.slice(head[0].length)) && !over ? "more" : undefined;
  const bodyEnd = head[0].length - 1 + end.index;
  const calls = callsOf(text.slice(head[0].length, bodyEnd));
  return calls && { text: text.slice(0, bodyEnd + end[0].length), calls };
};

const openers = ["name", "function", "arguments", "parameters", "type", "id"].map((key) => `{"${key}"`);

/** Whether JSON that begins so may be a call or a list of them. */
function mayBeCall(json: string): boolean {
  const start = json.slice(0, 200).replace(/\s+/g, "").replace(/^\[/, "");
  return openers.some((opener) => start.startsWith(opener) || opener.startsWith(start));
}

/** JSON that begins a line and ends one. */
const bare: Form = (text, _, over) => {
  if (!mayBeCall(text)) return undefined;
  const end = endOfJson(text);
  const behind = /^[ \t]*(\r?\n|$)/.exec(text.slice(end));
  if (end < 0 || (!over && behind?.[1] === "")) return over ? undefined : "more";
  const calls = behind && callsOf(text.slice(0, end));
  return calls ? { text: text.slice(0, end + behind[0].length), calls } : undefined;
};

/** Where the object or list that `text` begins with is closed: the place behind it, or -1. */
function endOfJson(text: string): number {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (quoted) {
      if (c === "\\") at++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return at + 1;
  }
  return -1;
}

/** name({…}) or name: {…} as the last line. Other arguments in brackets are a call that can not be read. */
const spoken: Form = (text, tools, over) => {
  const start = text.trimStart();
  const name = [...tools.keys()].find((known) => start.startsWith(known) || known.startsWith(start));
  if (name === undefined) return undefined;
  if (start.length <= name.length) return over ? undefined : "more";
  const line = /^([^\n]*)\s*$/.exec(start)?.[1];
  const tail = line?.slice(name.length).trim();
  if (tail === undefined || !/^[(:]/.test(tail)) return undefined;
  if (!over) return "more";
  const json = /^\((\{.*\})\)$|^:\s*(\{.*\})$/.exec(tail);
  const args = json?.[1] ?? json?.[2];
  if (args !== undefined) return { text, calls: [{ name, args: isObject(parsed(args)) ? args : undefined }] };
  return /^\([^()]*=.*\)$|^\(\s*["'[{].*\)$/.test(tail) ? { text, calls: [{ name, args: undefined }] } : undefined;
};

const forms: readonly Form[] = [tagged, functionTag, listed, fenced, bare, spoken];

/** The calls of a JSON text: one object or a list of them, each with a name and an object of arguments; else undefined. */
function callsOf(json: string): TextCall[] | undefined {
  const value = parsed(json);
  const list = Array.isArray(value) ? value : [value];
  const calls = list.map((item) => {
    const { function: inner, ...outer } = (isObject(item) ? item : {}) as Record<string, unknown>;
    const { name, arguments: args, parameters } = (isObject(inner) ? inner : outer) as Record<string, unknown>;
    const given = args ?? parameters;
    const object = typeof given === "string" ? parsed(given) : given;
    return typeof name === "string" && isObject(object) ? { name, args: JSON.stringify(object) } : undefined;
  });
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
