/** Requests as text: `key=value` lines, a line `---`, a body; or one JSON object; or a body alone. */
import { NineError } from "#core";

export interface Request {
  /** As text where they came in lines, as they are where they came as JSON. */
  fields: Readonly<Record<string, unknown>>;
  body: string;
}

/**
 * `file` names it in errors, `keys` are its fields, `bodyKey` is the body's name in JSON. Lines are read as fields where
 * the text begins with one, or with the line `---`, and has that line; all other text is a body. Throws NineError.
 */
export function parseRequest(file: string, data: Uint8Array, keys: readonly string[], bodyKey: string): Request {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new NineError(`${file}: the request is not UTF-8`);
  }
  const request = asJson(text, bodyKey) ?? asLines(file, text);
  for (const key of Object.keys(request.fields))
    if (!keys.includes(key))
      throw new NineError(`${file}: unknown key ${JSON.stringify(key)} (keys: ${keys.join(" ")})`);
  if (request.body.trim() === "") throw new NineError(`${file}: the body is empty`);
  return request;
}

/** Only an object with the body's name is a request: other JSON is a text like any. */
function asJson(text: string, bodyKey: string): Request | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const { [bodyKey]: body, ...fields } = JSON.parse(text) as Record<string, unknown>;
    return typeof body === "string" ? { fields, body } : undefined;
  } catch {
    return undefined;
  }
}

function asLines(file: string, text: string): Request {
  const lines = /^(?:[A-Za-z]+=|---\r?$)/m;
  const end = /^---\r?(?:\n|$)/m.exec(text);
  if (!end || text.search(lines) !== 0) return { fields: {}, body: text };
  const fields: Record<string, string> = {};
  for (const line of text.slice(0, end.index).split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      throw new NineError(
        `${file}: ${JSON.stringify(line.slice(0, 40))} is no key=value line (the line --- ends them)`,
      );
    fields[key] = value.trim();
  }
  return { fields, body: text.slice(end.index + end[0].length) };
}

/** A field as text; undefined where it is missing or empty. */
export function textOf({ fields }: Request, key: string, file: string): string | undefined {
  const value = fields[key];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new NineError(`${file}: ${key} must be text`);
}

/** A field as a number within bounds; undefined where it is missing. */
export function numberOf(
  { fields }: Request,
  key: string,
  file: string,
  bounds: { min: number; max: number; whole?: boolean },
): number | undefined {
  const value = fields[key];
  if (value === undefined || value === "") return undefined;
  const number = Number(value);
  const fits = number >= bounds.min && number <= bounds.max && (!bounds.whole || Number.isInteger(number));
  if (fits) return number;
  const what = bounds.whole ? "a whole number" : "a number";
  throw new NineError(`${file}: ${key} must be ${what} from ${bounds.min} to ${bounds.max}`);
}
