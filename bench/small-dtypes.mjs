// small-dtypes.mjs - products whose weights are stored in 16 or 8 bits: node bench/small-dtypes.mjs [THREADS]
//
// Compares x w.astype('float32') with the same product of float32 weights, called in turns; ratios of medians above 1 mean that
// the small weights are faster. Kept: every call has the same weights, which stay packed. Fresh: two sets of weights alternate,
// so that each call packs and casts them anew.
import * as sn from 'sinter';

const [threads = '2'] = process.argv.slice(2);
await sn.init({ threads: Number(threads) });

const WARM = 15;
const ROUNDS = 31;
const DTYPES = ['float16', 'bfloat16', 'int8'];
const SIZES = [[1, 1024, 4096], [8, 1024, 4096], [32, 1024, 1024], [128, 784, 512], [512, 1024, 2048], [1000, 1000, 1000]];

const normal = (...shape) => sn.random.normal(sn.random.nextKey(), shape);
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

const product = sn.jit((x, w) => x.matmul(w.astype('float32')));

/** The medians of the calls with each set of weights; the sets take turns. */
const inTurns = (x, weights) => {
  const times = weights.map(() => []);
  for (let round = -WARM; round < ROUNDS; round += 1) {
    weights.forEach((sets, k) => {
      const begin = performance.now();
      const y = product(x, sets[Math.abs(round) % sets.length]);
      if (round >= 0) times[k].push(performance.now() - begin);
      y.dispose();
    });
  }
  return times.map(median);
};

const row = (cells) => console.log(cells.map((cell, i) => (i ? cell.padStart(16) : cell.padEnd(18))).join(''));
row([`${sn.info().threads} threads`, 'float32 ms', ...DTYPES]);
for (const [m, k, n] of SIZES) {
  const x = normal(m, k);
  const sets = ['float32', ...DTYPES].map((dtype) => [30, 40].map((scale) => normal(k, n).mul(scale).astype(dtype)));
  sn.eval([x, sets]);
  for (const [name, used] of [['kept', sets.map((both) => both.slice(0, 1))], ['fresh', sets]]) {
    const [wide, ...small] = inTurns(x, used);
    row([`${m}x${k}x${n} ${name}`.padEnd(22), wide.toFixed(3), ...small.map((ms) => `${(wide / ms).toFixed(2)}x`)]);
  }
  sn.tree.leaves([x, sets]).forEach((t) => t.dispose());
}
process.exit(0);
