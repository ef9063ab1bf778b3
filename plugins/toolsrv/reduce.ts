/** Makes terminal output fit for a model: no colours, of a progress line only its last frame. */

// CSI, OSC (ended by BEL or ST), and two-character escapes; ECMA-48.
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal escapes are what this is about
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const controls = /[\x01-\x07\x0b\x0c\x0e-\x1f\x7f]/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const anything = /[\0-\x08\x0b-\x1f\x7f]/;

/** Text as a person sees it at the end: what carriage returns and backspaces overwrote is gone, NULs are marked. */
export function reduce(output: string): string {
  if (!anything.test(output)) return output;
  const lines = output.replace(escapes, "").split("\n").map(lastFrame);
  return lines.join("\n").replace(/\0+/g, "\ufffd").replace(controls, "");
}

function lastFrame(line: string): string {
  const frame = line.includes("\r") ? line.split("\r").findLast((part) => part.trim() !== "") : line;
  return frame?.includes("\b") ? overstrike(frame) : (frame ?? "");
}

function overstrike(frame: string): string {
  const shown: string[] = [];
  for (const character of frame)
    if (character === "\b") shown.pop();
    else shown.push(character);
  return shown.join("");
}
