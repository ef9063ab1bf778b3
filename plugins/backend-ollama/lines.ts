/** Lines of a body, as they come: any cut, CRLF, blank lines, a last one without an end. */

const longest = 16 * 1024 * 1024;

/** A batch for each piece, which may be empty. Throws RangeError for a line over 16 Mi characters. */
export async function* lineBatches(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true });
    const parts = text.split("\n");
    const begun = parts.pop() ?? "";
    if (parts.length > 0) parts[0] = rest + parts[0];
    rest = parts.length > 0 ? begun : rest + begun;
    if (rest.length > longest) throw new RangeError(`a line is over ${longest} characters`);
    yield parts.filter((line) => line.trim() !== "");
  }
  rest += decoder.decode();
  if (rest.trim() !== "") yield [rest];
}
