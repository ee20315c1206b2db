// kinds.mjs - the workloads through the package, in Node and in pages: the counterpart of
// bench/native/workloads.h, with the same arguments.
import * as sn from '../../js/dist/index.js';

// ---- arguments: a hash of the element's index, the same bits as in C ------------------------------

const hashWord = (index, seed) => {
  let h = Math.imul(index ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35);
  return (h ^ (h >>> 13)) >>> 0;
};

const sizeOf = (shape) => shape.reduce((size, d) => size * d, 1);

/** Uniform in [-scale, scale). */
const floats = (seed, shape, scale) => sn.tensor(
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => ((hashWord(i, seed) >>> 8) * 2 ** -23 - 1) * scale),
  { shape });

const labels = (seed, rows, classes) => sn.tensor(
  Int32Array.from({ length: rows }, (_, i) => hashWord(i, seed) % classes));

// ---- workloads: call() gives the tensors of one call and releases those of the one before ---------

const keepLast = (run) => {
  let last = [];
  return () => {
    for (const t of last) t.dispose();
    last = run();
    return last;
  };
};

const compiled = (f, inputs) => {
  const run = sn.jit(f);
  return {
    call: keepLast(() => [run(...inputs)]),
    dispose: () => {
      run.dispose();
      for (const t of inputs) t.dispose();
    },
  };
};

const eager = (f, x) => ({
  call: keepLast(() => {
    const y = f(x);
    sn.eval(y);
    return [y];
  }),
  dispose: () => x.dispose(),
});

const mlp = (batch, ...widths) => {
  const layers = widths.length - 1;
  const loss = (params, x, y) => {
    const h = params.reduce((value, [weight, bias], l) => {
      const sum = value.matmul(weight).add(bias);
      return l + 1 < layers ? sum.relu() : sum;
    }, x);
    return sn.mean(sn.softmaxCrossEntropy(h, y));
  };
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-3 }));
  // Seeds count the arguments in C's order: count, means, squares, parameters, rate, x, labels.
  const firstParameter = 1 + 4 * layers;
  const x = floats(firstParameter + 2 * layers + 1, [batch, widths[0]], 1);
  const y = labels(firstParameter + 2 * layers + 2, batch, widths.at(-1));
  const params = widths.slice(1).map((width, l) =>
    [floats(firstParameter + 2 * l, [widths[l], width], 2 ** -4), sn.zeros([width])]);
  let state = step.init(params);
  sn.dispose(params);
  let last = null;
  return {
    call: () => {
      last?.dispose();
      ({ state, loss: last } = step(state, x, y));
      const { count, mean, square } = state.optimizer;
      return [count, ...mean, ...square, ...sn.tree.leaves(state.params), last];
    },
    dispose: () => {
      step.dispose();
      sn.dispose([state, last, x, y]);
    },
  };
};

/** Two 3x3 convolutions, each followed by a pool, and a linear layer; plain descent. */
const cnn = (batch) => {
  const pooled = (x, filter, bias) =>
    sn.maxPool2d(sn.relu(sn.conv2d(x, filter, { padding: 'same' }).add(bias)), { window: 2 });
  const loss = ([f1, b1, f2, b2, weight, bias], x, y) => {
    const features = pooled(pooled(x, f1, b1), f2, b2).reshape([batch, -1]);
    return sn.mean(sn.softmaxCrossEntropy(features.matmul(weight).add(bias), y));
  };
  const both = sn.valueAndGrad(loss);
  const step = sn.jit((params, x, y) => {
    const [value, grads] = both(params, x, y);
    return [params.map((param, i) => param.sub(grads[i].mul(1e-3))), value];
  }, { donate: 0 });
  let state = [
    floats(0, [3, 3, 1, 16], 2 ** -1), sn.zeros([16]), floats(2, [3, 3, 16, 32], 2 ** -3), sn.zeros([32]),
    floats(4, [7 * 7 * 32, 10], 2 ** -5), sn.zeros([10]),
  ];
  const [x, y] = [floats(6, [batch, 28, 28, 1], 1), labels(7, batch, 10)];
  let last = null;
  return {
    call: () => {
      last?.dispose();
      [state, last] = step(state, x, y);
      return [...state, last];
    },
    dispose: () => {
      step.dispose();
      sn.dispose([state, last, x, y]);
    },
  };
};

/** Operand `which` of a row of the op table, as in workloads.h. */
const operand = (which, n, { name, dtype, lo, hi }) => {
  const condition = name === 'where' && which === 0;
  const unit = (i) => ((hashWord(i, which) >>> 8) * 2 ** -23) / 2;
  const value = condition || dtype === 'bool'
    ? (i) => Number(unit(i) < 0.5)
    : (i) => lo + (hi - lo) * unit(i);
  const type = condition ? 'bool' : dtype;
  const Typed = { float32: Float32Array, int32: Int32Array, bool: Uint8Array }[type];
  return sn.tensor(new Typed(n).map((_, i) => value(i)), { dtype: type });
};

/** The words after a row's number and the size come from the command "ops". */
const op = (_number, n, name, arity, dtype, lo, hi) => {
  const f = sn[name.replace(/_(.)/g, (_match, letter) => letter.toUpperCase())];
  const inputs = Array.from({ length: arity }, (_, i) => operand(i, n, { name, dtype, lo, hi }));
  return compiled(f ? (...xs) => f(...xs) : (x) => x, inputs);
};

export const kinds = {
  mlp,
  cnn,
  op,
  matmul: (m, k, n) => compiled((a, b) => a.matmul(b), [floats(0, [m, k], 1), floats(1, [k, n], 1)]),
  linear_gelu: (m, k, n) => compiled((x, w, b) => sn.gelu(x.matmul(w).add(b)),
    [floats(0, [m, k], 1), floats(1, [k, n], 2 ** -4), floats(2, [n], 1)]),
  conv: (side, channels) => compiled((x, filter) => sn.conv2d(x, filter, { padding: 'same' }),
    [floats(0, [1, side, side, channels], 1), floats(1, [3, 3, channels, channels], 2 ** -4)]),
  attention: (heads, tokens, size) => compiled((q, k, v) => sn.attention(q, k, v, { scale: 0.125 }),
    [0, 1, 2].map((i) => floats(i, [1, heads, tokens, size], 1))),
  relu: (n) => compiled(sn.relu, [floats(0, [n], 1)]),
  tanh: (n) => compiled(sn.tanh, [floats(0, [n], 4)]),
  add: (n) => compiled(sn.add, [floats(0, [n], 1), floats(1, [n], 1)]),
  gelu: (m, n) => compiled(sn.gelu, [floats(0, [m, n], 4)]),
  softmax: (m, n) => compiled((x) => sn.softmax(x), [floats(0, [m, n], 4)]),
  layer_norm: (m, n) => compiled((x) => sn.layerNorm(x), [floats(0, [m, n], 1)]),
  fused: (n) => compiled((x, y, z) => sn.sigmoid(x.mul(y).add(z)).mul(x).sub(y.square().div(2)),
    [floats(0, [n], 1), floats(1, [n], 1), floats(2, [n], 1)]),
  sum: (n) => compiled((x) => sn.sum(x), [floats(0, [n], 1)]),
  cross_entropy: (rows, classes) => compiled(sn.softmaxCrossEntropy,
    [floats(0, [rows, classes], 4), labels(1, rows, classes)]),
  eager_relu: (n) => eager(sn.relu, floats(0, [n], 1)),
};
