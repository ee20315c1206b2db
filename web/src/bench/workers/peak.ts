// The peak of 128-bit SIMD on one core: chains of multiply-adds that never touch memory, fused if the engine has relaxed SIMD.
// Chains do not wait for each other, so enough of them keep all units busy.

/** As many chains as fit into registers, which is more than the latency of a multiply-add times the number of units. */
const CHAINS = 14;
const ROUNDS = 20_000;
/** Long enough for the resolution of the clock, and short enough that some window is undisturbed on a busy machine. */
const WINDOW_MS = 3;
const FLOPS = 2 * 4;

const V128 = 0x7b;
const I32 = 0x7f;
const F32 = 0x7d;

/** Unsigned LEB128. */
function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
}

const section = (id: number, ...bytes: number[]): number[] => [id, ...leb(bytes.length), ...bytes];

/**
 * A module with f(rounds, x), whose result depends on all chains. Fused, a round is chain = x * x + chain, an instruction that
 * works in place in every engine. Otherwise it is chain = chain * x + x, of which nothing is invariant from round to round.
 */
function code(fused: boolean): Uint8Array<ArrayBuffer> {
  const [rounds, given, x, first] = [0, 1, 2, 3];
  const get = (local: number): number[] => [0x20, local];
  const set = (local: number): number[] => [0x21, local];
  const add = [0xfd, 0xe4, 0x01];
  const step = (chain: number): number[] =>
    fused
      ? [...get(x), ...get(x), ...get(chain), 0xfd, 0x85, 0x02, ...set(chain)]
      : [...get(chain), ...get(x), 0xfd, 0xe6, 0x01, ...get(x), ...add, ...set(chain)];
  const chains = Array.from({ length: CHAINS }, (_, i) => first + i);
  const body = [
    ...[1, ...leb(CHAINS + 1), V128],
    ...[...get(given), 0xfd, 0x13, ...set(x)],
    ...[0x03, 0x40, ...chains.flatMap(step)],
    ...[...get(rounds), 0x41, 1, 0x6b, 0x22, rounds, 0x0d, 0, 0x0b],
    ...get(first),
    ...chains.slice(1).flatMap((chain) => [...get(chain), ...add]),
    ...[0xfd, 0x1f, 0, 0x0b],
  ];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 1, 0x60, 2, I32, F32, 1, F32),
    ...section(3, 1, 0),
    ...section(7, 1, 1, 0x66, 0, 0),
    ...section(10, 1, ...leb(body.length), ...body),
  ]);
}

/** The best rate of the calling thread within `forMs`, in GFLOP/s. */
export function peak(fused: boolean, forMs: number): number {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code(fused)));
  const run = exports.f as (rounds: number, x: number) => number;
  const end = performance.now() + forMs;
  let best = 0;
  for (let from = performance.now(); from < end; ) {
    let [calls, to] = [0, from];
    do {
      run(ROUNDS, 0);
      calls++;
      to = performance.now();
    } while (to - from < WINDOW_MS);
    best = Math.max(best, (calls * ROUNDS * CHAINS * FLOPS) / (to - from) / 1e6);
    from = to;
  }
  return best;
}
