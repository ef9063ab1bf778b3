/** Standard input cut into messages. */

/** As few pieces as there can be, each of at most `size` bytes: bytes are kept until a piece is full or the input ends. */
export async function* pieces(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    kept.push(chunk);
    length += chunk.length;
    if (length <= size) continue;
    const bytes = Buffer.concat(kept, length);
    let at = 0;
    for (; length - at > size; at += size) yield bytes.subarray(at, at + size);
    kept = [bytes.subarray(at)];
    length -= at;
  }
  if (length > 0) yield Buffer.concat(kept, length);
}

/** One piece for each line, its newline included; the last one may lack it. */
export async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer[] = [];
  for await (const chunk of chunks) {
    let at = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, at)) {
      yield Buffer.concat([...kept, chunk.subarray(at, end + 1)]);
      kept = [];
      at = end + 1;
    }
    if (at < chunk.length) kept.push(chunk.subarray(at));
  }
  if (kept.length > 0) yield Buffer.concat(kept);
}
