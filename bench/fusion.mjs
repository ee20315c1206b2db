// fusion.mjs - measures the benefit of fusion: node bench/fusion.mjs [THREADS] [TEXT]
//
// Layers of known sizes are compiled with fusion and without (each op is a kernel of its own) and called in turns. The output
// has the ratios of the medians and of the minima; the highest possible ratio, which is the time without fusion over that of
// the layer's product alone; the kernels; and the bytes that no longer go through memory. TEXT: only layers whose names contain
// it.
import * as sn from 'sinter';

const [threads = '2', text = ''] = process.argv.slice(2);
await sn.init({ threads: Number(threads) });

const WARM_MS = 600;
const ROUNDS = 25;
const SAMPLE_MS = 15;

const normal = (...shape) => sn.random.normal(sn.random.nextKey(), shape);
const positive = (...shape) => normal(...shape).square().add(0.5);

const linear = (activation) => (x, w, b) => activation(x.matmul(w).add(b));
const product = (x, w) => x.matmul(w);
const convolution = (x, w) => sn.conv2d(x, w, { padding: 'same' });
const SIZES = [[128, 512, 768], [256, 768, 1024], [512, 1024, 2048]];
const products = (name, asked, f, extra = () => []) =>
  SIZES.map(([m, k, n]) => ({ name: `${name} ${m}x${k}x${n}`, asked, f, product,
    inputs: () => [normal(m, k), normal(k, n).mul(k ** -0.5), normal(n), ...extra(k)] }));
const conv = (c, side) => ({ name: `conv+batchNorm+relu ${c}->${c} ${side}x${side}`, asked: 1.5, product: convolution,
  f: (x, w, mean, variance, weight, bias) =>
    sn.relu(sn.batchNorm(convolution(x, w), { mean, variance, weight, bias })),
  inputs: () => [normal(1, side, side, c), normal(3, 3, c, c).mul(0.1), normal(c), positive(c), positive(c), normal(c)] });

const CASES = [
  ...[[1000, 512], [2048, 768], [4096, 1024]].map(([m, n]) => ({ name: `gelu ${m}x${n}`,
    f: (x) => x.mul(0.5).mul(sn.erf(x.mul(Math.SQRT1_2)).add(1)), inputs: () => [normal(m, n)] })),
  ...products('linear+relu', 1.2, linear(sn.relu)),
  ...products('linear+gelu', 1.2, linear(sn.gelu)),
  ...products('layerNorm+linear', 1.2,
    (x, w, b, weight, bias) => sn.layerNorm(x, { weight, bias }).matmul(w).add(b), (k) => [normal(k), normal(k)]),
  conv(64, 56), conv(16, 112), conv(128, 28),
  { name: 'attention 8x512x64', f: (q, k, v) => sn.attention(q, k, v),
    inputs: () => [0, 1, 2].map(() => normal(1, 8, 512, 64)) },
];

const call = (f) => {
  const begin = performance.now();
  f().dispose();
  return performance.now() - begin;
};
/** The mean time of the calls of one sample. */
const sample = (f) => {
  const end = performance.now() + SAMPLE_MS;
  let [total, calls] = [0, 0];
  do {
    total += call(f);
    calls += 1;
  } while (performance.now() < end);
  return total / calls;
};
const sorted = (list) => list.sort((a, b) => a - b);

/** A function compiled for these inputs: how to call it, and its `inspect`. */
function form(f, fusion, inputs) {
  const compiled = sn.jit(f, { fusion });
  const seen = sn.inspect(f, { fusion })(...inputs);
  const { kernels, bytes } = seen;
  seen.dispose();
  return { run: () => compiled(...inputs), kernels: kernels.length, bytes, times: [] };
}

function measure({ name, asked, f, product: alone, inputs }) {
  const given = inputs();
  sn.eval(given);
  const forms = [form(f, true, given), form(f, false, given)];
  if (alone) forms.push(form(alone, true, given.slice(0, 2)));
  for (const { run } of forms) for (const end = performance.now() + WARM_MS; performance.now() < end;) call(run);
  for (let r = 0; r < ROUNDS; r += 1) for (const one of forms) one.times.push(sample(one.run));
  const [fused, apart, product] = forms.map(({ kernels, bytes, times }) =>
    ({ kernels, bytes, median: sorted(times)[ROUNDS >> 1], min: times[0] }));
  for (const x of given) x.dispose();
  const times = (x) => (x ? `${x.toFixed(2)}x` : '').padStart(8);
  console.log(name.padEnd(34), fused.median.toFixed(3).padStart(9), apart.median.toFixed(3).padStart(9),
    times(apart.median / fused.median), times(apart.min / fused.min), times(product && apart.min / product.min),
    (asked ? `${asked}x` : '').padStart(7), `${fused.kernels} of ${apart.kernels}`.padStart(9),
    `${((apart.bytes - fused.bytes) / 1e6).toFixed(1)} MB`.padStart(10));
}

console.log(`${sn.info().threads} threads`.padEnd(34), 'fused ms'.padStart(9), 'apart'.padStart(9), 'medians'.padStart(8),
  'minima'.padStart(8), 'at most'.padStart(8), 'asked'.padStart(7), 'kernels'.padStart(9), 'spared'.padStart(10));
CASES.filter(({ name }) => name.includes(text)).forEach(measure);
process.exit(0);
