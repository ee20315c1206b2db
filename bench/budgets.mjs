// budgets.mjs - training steps within a memory budget, in Node: node bench/budgets.mjs [THREADS] [ROUNDS] [NAME]
//
// Runs each model with its normal arena, then with three quarters, a half and 35 % of it as memoryBudget, in turns. Times are
// medians of the rounds. Beside the ratio of two medians stands that of the best times, which a busy machine disturbs less.
// "again": the work of kernels that run a second time, as a share of all work without a budget.
import * as sn from '../js/dist/index.js';

await sn.init({ threads: Number(process.argv[2] ?? 2) });

const ROUNDS = Number(process.argv[3] ?? 9);
const NAME = process.argv[4] ?? '';

const normal = (seed, shape, scale) => sn.random.normal(sn.random.key(seed), shape).mul(scale);
const layers = (n, make) => Array.from({ length: n }, (_, l) => make(4 * l));

/** x + W2 relu(W1 x + b1) + b2. */
const residual = (width) => ({
  params: layers(64, (seed) => ({
    w1: normal(seed, [width, width], 0.05), b1: sn.zeros([width]),
    w2: normal(seed + 1, [width, width], 0.05), b2: sn.zeros([width]),
  })),
  loss: (params, x) => params.reduce(
    (h, { w1, b1, w2, b2 }) => h.add(h.matmul(w1).add(b1).relu().matmul(w2).add(b2)), x).square().mean(),
  batch: [normal(999, [128, width], 1)],
});

/** A recurrent layer of 50 steps, unrolled by hand. */
const lstm = () => {
  const size = 128, rows = 32, steps = 50;
  const gate = (z, k) => z.slice([0, k * size], [rows, size]);
  return {
    params: { x: normal(1, [size, 4 * size], 0.1), h: normal(2, [size, 4 * size], 0.1), b: sn.zeros([4 * size]) },
    loss: (p, xs, ys) => {
      let h = sn.zeros([rows, size]), c = h, sum = sn.tensor(0);
      for (let t = 0; t < steps; t += 1) {
        const at = (all) => all.slice([0, t, 0], [rows, 1, size]).reshape([rows, size]);
        const z = at(xs).matmul(p.x).add(h.matmul(p.h)).add(p.b);
        c = c.mul(gate(z, 1).sigmoid()).add(gate(z, 0).sigmoid().mul(gate(z, 2).tanh()));
        h = gate(z, 3).sigmoid().mul(c.tanh());
        sum = sum.add(h.sub(at(ys)).square().mean());
      }
      return sum;
    },
    batch: [normal(3, [rows, steps, size], 1), normal(4, [rows, steps, size], 1)],
  };
};

/** A GPT with learnt positions, pre-norm blocks, GELU and an untied head; 65 letters. */
const gpt = (width, blocks, heads, context, rows) => {
  const { nn } = sn;
  const block = () => nn.sequential(
    nn.residual(nn.layerNorm(width), nn.selfAttention(width, heads, { causal: true })),
    nn.residual(nn.layerNorm(width), nn.linear(width, 4 * width), nn.gelu(), nn.linear(4 * width, width)));
  const letters = nn.embedding(65, width);
  const net = nn.sequential(...layers(blocks, block), nn.layerNorm(width), nn.linear(width, 65));
  const text = (seed) => sn.random.uniform(sn.random.key(seed), [rows, context]).mul(65).astype('int32');
  return {
    params: {
      letters: letters.init(sn.random.key(1)), places: normal(2, [context, width], 0.1), net: net.init(sn.random.key(3)),
    },
    loss: (p, x, y) => {
      const logits = net.apply(p.net, letters.apply(p.letters, x).add(p.places));
      return sn.softmaxCrossEntropy(logits, y).mean();
    },
    batch: [text(7), text(8)],
  };
};

/** Layers: conv 3x3 16, pool, conv 3x3 32, pool, dense 10. */
const convolutional = () => {
  const rows = 64;
  const layer = (x, { w, b }) => sn.maxPool2d(sn.conv2d(x, w, { padding: 'same' }).add(b).relu(), { window: 2 });
  return {
    params: {
      convolutions: [
        { w: normal(1, [3, 3, 1, 16], 0.1), b: sn.zeros([16]) }, { w: normal(2, [3, 3, 16, 32], 0.1), b: sn.zeros([32]) }],
      dense: { w: normal(3, [7 * 7 * 32, 10], 0.05), b: sn.zeros([10]) },
    },
    loss: ({ convolutions, dense }, x, y) => {
      const features = convolutions.reduce(layer, x).reshape([rows, -1]);
      return sn.softmaxCrossEntropy(features.matmul(dense.w).add(dense.b), y).mean();
    },
    batch: [normal(4, [rows, 28, 28, 1], 1), sn.zeros([rows], { dtype: 'int32' })],
  };
};

const MODELS = {
  'residual layers, width 256': () => residual(256),
  'residual layers, width 64': () => residual(64),
  'residual layers, width 512': () => residual(512),
  'LSTM, 50 steps written out': lstm,
  'GPT, width 96': () => gpt(96, 3, 4, 64, 16),
  'GPT, width 128': () => gpt(128, 4, 4, 96, 16),
  'convolutional network': convolutional,
};

const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

/** A training step within a budget: its memory, and how to run it. */
const variant = (share, whole, { params, loss, batch }) => {
  const options = share < 1 ? { memoryBudget: share * whole.memory.arenaBytes } : {};
  try {
    const seen = sn.inspect(sn.valueAndGrad(loss), options)(params, ...batch);
    seen.dispose();
    const step = sn.trainStep(loss, sn.optim.sgd({ lr: 0.01 }), options);
    let state = step.init(params);
    const run = () => {
      const next = step(state, ...batch);
      next.loss.item();
      state = next.state;
    };
    run();
    return { share, seen, run, times: [] };
  } catch (error) {
    if (error.code !== 'argument') throw error;
    console.log(`${`${100 * share} %`.padStart(6)}  ${error.message}`);
    return null;
  }
};

for (const [name, make] of Object.entries(MODELS)) {
  if (!name.includes(NAME)) continue;
  const model = make();
  const whole = sn.inspect(sn.valueAndGrad(model.loss))(model.params, ...model.batch);
  console.log(`${name}: ${whole.kernels.length} kernels, arena ${(whole.memory.arenaBytes / 1e6).toFixed(2)} MB`);
  const variants = [1, 0.75, 0.5, 0.35].map((share) => variant(share, whole, model)).filter((each) => each);
  for (let i = 0; i < ROUNDS; i += 1) {
    for (const { run, times } of variants) {
      const begin = performance.now();
      run();
      times.push(performance.now() - begin);
    }
  }
  for (const { share, seen, times } of variants) {
    const [first] = variants;
    console.log(
      `${`${100 * share} %`.padStart(6)}  arena ${(seen.memory.arenaBytes / whole.memory.arenaBytes).toFixed(3)}` +
      `  kernels ${seen.kernels.length}  again ${((seen.flops - whole.flops) / whole.flops).toFixed(3)}` +
      `  ${median(times).toFixed(2)} ms  ${(median(times) / median(first.times)).toFixed(2)}x` +
      `  best ${(Math.min(...times) / Math.min(...first.times)).toFixed(2)}x  compile ${seen.compileMs.toFixed(0)} ms`);
  }
  whole.dispose();
}
process.exit(0);
