// A server that answers each T-message with canned bytes: what 9P in Node costs where nothing is served. It is tuned: one
// write per tick, an output slab of 64 KiB that is kept while the system takes everything, data corked behind its header.

const large = 8 * 1024;
const qid = Buffer.alloc(13);

/** A reply of `type` with `body` behind its tag. */
function reply(type, ...body) {
  const bytes = Buffer.concat([Buffer.alloc(7), ...body]);
  bytes.writeUInt32LE(bytes.length);
  bytes[4] = type;
  return bytes;
}

const u16 = (n) => Buffer.from([n & 0xff, n >> 8]);
const u32 = (n) => Buffer.from(new Uint32Array([n]).buffer);
const text = (s) => Buffer.concat([u16(s.length), Buffer.from(s)]);
const stat = Buffer.concat([Buffer.alloc(39), text("file"), text("root"), text("root"), text("root")]);

const replies = new Map([
  [100, reply(101, u32(65_560), text("9P2000"))],
  [104, reply(105, qid)],
  [112, reply(113, qid, u32(65_536))],
  [120, reply(121)],
  [124, reply(125, u16(stat.length + 2), u16(stat.length), stat)],
]);
const walks = Array.from({ length: 17 }, (_, n) => reply(111, u16(n), Buffer.alloc(13 * n)));
const small = reply(117, u32(5), Buffer.from("idle\n"));
const data = Buffer.alloc(65_536, "x");

export function canned(socket) {
  let slab = Buffer.allocUnsafeSlow(64 * 1024);
  let rest;
  const flush = (at) => {
    socket.write(slab.subarray(0, at));
    if (socket.writableLength > 0) slab = Buffer.allocUnsafeSlow(64 * 1024);
  };
  socket.on("data", (chunk) => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
    let from = 0;
    let to = 0;
    socket.cork();
    while (bytes.length - from >= 4) {
      const size = bytes.readUInt32LE(from);
      if (bytes.length - from < size) break;
      const type = bytes[from + 4];
      const count = type === 116 ? bytes.readUInt32LE(from + 19) : 0;
      if (count >= large) {
        const head = Buffer.allocUnsafe(11);
        head.writeUInt32LE(11 + count);
        head[4] = 117;
        head[5] = bytes[from + 5];
        head[6] = bytes[from + 6];
        head.writeUInt32LE(count, 7);
        socket.write(head);
        socket.write(data.subarray(0, count));
      } else {
        const answer = type === 116 ? small : type === 110 ? walks[bytes.readUInt16LE(from + 15)] : replies.get(type);
        if (to + answer.length > slab.length) {
          flush(to);
          to = 0;
        }
        slab.set(answer, to);
        slab[to + 5] = bytes[from + 5];
        slab[to + 6] = bytes[from + 6];
        to += answer.length;
      }
      from += size;
    }
    rest = from < bytes.length ? bytes.subarray(from) : undefined;
    // Corked bytes count as waiting, so that the slab would never be kept.
    socket.uncork();
    if (to > 0) flush(to);
  });
  socket.on("error", () => {});
}
