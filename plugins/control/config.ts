/** A plugin's options as JSON for people: references to secrets stay references, secrets that stand there are hidden. */
import { messageOf } from "#core";

const secretName = /key|token|secret|passw|authorization/i;

export function showConfig(config: unknown): string {
  const hide = function (this: unknown, name: string, value: unknown): unknown {
    if (!secretName.test(name) || (typeof value !== "string" && typeof value !== "object")) return value;
    // a reference has become its text by now, which may be shown
    const isText = (this as Record<string, unknown>)[name] !== value;
    return isText || value === null ? value : "[hidden]";
  };
  try {
    return `${JSON.stringify(config ?? {}, hide, 2)}\n`;
  } catch (error) {
    return `options that are no JSON: ${messageOf(error)}\n`;
  }
}
