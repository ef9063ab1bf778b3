/** Code fences that are longer than any run of backticks inside. */

/** Length of the longest run of backticks. */
export function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

export const fenceFor = (text: string): string => "`".repeat(Math.max(3, longestRun(text) + 1));

/**
 * Where a line of `text` begins with a run that would close `fence`; undefined: nowhere. `atLineStart` says whether
 * the text begins a line.
 */
export function breakAt(text: string, fence: string, atLineStart: boolean): number | undefined {
  if (!text.includes(fence)) return undefined;
  const found = new RegExp(`(^|\\n) *\`{${fence.length}}`).exec(text);
  if (!found) return undefined;
  if (found[1] === "\n") return found.index + 1;
  if (atLineStart) return 0;
  const next = text.indexOf("\n");
  const later = next < 0 ? undefined : breakAt(text.slice(next), fence, false);
  return later === undefined ? undefined : next + later;
}
