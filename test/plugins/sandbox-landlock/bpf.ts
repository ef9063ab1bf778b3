/** A small interpreter of classic BPF over struct seccomp_data: what a filter says of one system call. */
export interface SystemCall {
  arch: number;
  nr: number;
  args?: number[];
}

export type Verdict = "allow" | "kill" | number;

export const instructions = (program: Buffer): number[][] =>
  Array.from({ length: program.length / 8 }, (_, i) => [
    program.readUInt16LE(i * 8),
    program.readUInt8(i * 8 + 2),
    program.readUInt8(i * 8 + 3),
    program.readUInt32LE(i * 8 + 4),
  ]);

/** A number is the errno that the call fails with. */
export function judge(program: Buffer, { arch, nr, args = [] }: SystemCall): Verdict {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [i, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + i * 8);
  const list = instructions(program);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const [code, yes = 0, no = 0, k = 0] = list[at] ?? [];
    const jump = (taken: boolean) => {
      at += taken ? yes : no;
    };
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x35) jump(accumulator >= k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else if (code === 0x06) {
      if (k === 0x7fff0000) return "allow";
      return k === 0x80000000 ? "kill" : k & 0xffff;
    } else throw new Error(`instruction ${at} is none: ${code}`);
  }
}
