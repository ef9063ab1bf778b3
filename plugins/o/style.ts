/** Colours, where there is a terminal that shows them. */

export interface Style {
  dim(text: string): string;
  red(text: string): string;
  bold(text: string): string;
}

export function styleFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): Style {
  const on = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const wrap = (open: number, close: number) => (text: string) => (on ? `\x1b[${open}m${text}\x1b[${close}m` : text);
  return { dim: wrap(2, 22), red: wrap(31, 39), bold: wrap(1, 22) };
}

/** Text of others for a terminal: escape sequences and other control characters can not act. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, "\u00b7");
}
