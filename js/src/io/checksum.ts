// xxHash32 (Y. Collet, https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md): a checksum that detects every change of a
// single bit, since each of its steps can be inverted.

const P1 = 0x9e3779b1;
const P2 = 0x85ebca77;
const P3 = 0xc2b2ae3d;
const P4 = 0x27d4eb2f;
const P5 = 0x165667b1;

const { imul } = Math;
const rotated = (x: number, bits: number): number => (x << bits) | (x >>> (32 - bits));
const round = (lane: number, word: number): number => imul(rotated((lane + imul(word, P2)) | 0, 13), P1);

/** The checksum of bytes, 0 to 2^32 - 1. */
export function checksum(bytes: Uint8Array, seed = 0): number {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let at = 0;
  let hash = seed + P5;
  if (length >= 16) {
    let [a, b, c, d] = [seed + P1 + P2, seed + P2, seed, seed - P1];
    for (; at <= length - 16; at += 16) {
      a = round(a, view.getInt32(at, true));
      b = round(b, view.getInt32(at + 4, true));
      c = round(c, view.getInt32(at + 8, true));
      d = round(d, view.getInt32(at + 12, true));
    }
    hash = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
  }
  hash = (hash + length) | 0;
  for (; at <= length - 4; at += 4) hash = imul(rotated((hash + imul(view.getInt32(at, true), P3)) | 0, 17), P4);
  for (; at < length; at++) hash = imul(rotated((hash + imul(bytes[at]!, P5)) | 0, 11), P1);
  hash = imul(hash ^ (hash >>> 15), P2);
  hash = imul(hash ^ (hash >>> 13), P3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
