/** How many tokens a text is, as long as no provider has counted it. */

/** Bytes of one token in text that people write. */
const usual = 4;

/** Text that people wrote: quick, for what is measured at each step. */
export const proseTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / usual);

/** Runs without a blank, and rows of short groups of hexadecimal digits. */
const runs = /(?<![\w+/=-])(?:[\w+/=-]{40,}|(?:[\dA-Fa-f]{2,8}[ :]){8,})/g;

/** Base64, hashes and dumps hold nothing that a tokenizer knows, and many digits; paths, names and rules hold few. */
const isDense = (run: string): boolean => (run.match(/\d/g)?.length ?? 0) * 12 >= run.length;

/** A text of more characters is judged by samples: to read it all for a guess would hold everybody up. */
const samples = { over: 1 << 20, count: 32, size: 16 * 1024 };

/** On the safe side: a token is four bytes, and of what is no language one character. */
export function tokensOf(text: string): number {
  const seen = text.length > samples.over ? sampled(text) : [text];
  const share = text.length / seen.reduce((sum, { length }) => sum + length, 0) || 0;
  const dense = seen.reduce((sum, part) => sum + denseIn(part), 0) * share;
  return Math.ceil(dense + (Buffer.byteLength(text) - dense) / usual);
}

function denseIn(text: string): number {
  let dense = 0;
  for (const [run] of text.matchAll(runs)) if (isDense(run)) dense += run.length;
  return dense;
}

/** Parts of it that lie equally far apart. */
function sampled(text: string): string[] {
  const step = (text.length - samples.size) / (samples.count - 1);
  return Array.from({ length: samples.count }, (_, n) => {
    const from = Math.floor(n * step);
    return text.slice(from, from + samples.size);
  });
}
