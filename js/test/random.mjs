// Whole numbers from 0 to before n, the same for a seed: what tests, fuzzers and benches draw from. Two generators, as a seed
// of one of them gives the cases that are known for it.

/** xorshift; seed: odd ones differ from each other. */
export const xorshift = (seed) => {
  let state = seed | 1;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
};

/** mulberry32 */
export const mulberry = (seed) => {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
  };
};
