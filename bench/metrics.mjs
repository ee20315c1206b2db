// metrics.mjs [--write] - the figures that depend only on the sources: kernels, memory and work of known graphs, and sizes of
// what is shipped. bench/metrics.csv keeps them, so that a change of the compiler shows as a diff; --write renews it.
// tests/metrics checks them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import * as sn from '../js/dist/index.js';

const dist = fileURLToPath(new URL('../js/dist/', import.meta.url));
const file = fileURLToPath(new URL('metrics.csv', import.meta.url));
const readme = fileURLToPath(new URL('../README.md', import.meta.url));

// ---- graphs ----------------------------------------------------------------------------------------

const zeros = (...shape) => sn.zeros(shape);
const classes = (n) => sn.zeros([n], { dtype: 'int32' });

/** A training step of a network of linear layers. */
const step = (layers, optimizer, batch, inputs) => {
  const net = sn.nn.sequential(...layers);
  const loss = (params, x, y) => sn.mean(sn.softmaxCrossEntropy(net.apply(params, x), y));
  const train = sn.trainStep(loss, optimizer);
  return [train, [train.init(net.init(sn.random.key(0))), zeros(batch, inputs), classes(batch)]];
};

const { linear, relu, tanh } = sn.nn;
const mlpLayers = () => [linear(784, 256), relu(), linear(256, 128), relu(), linear(128, 10)];
const gelu = (x) => x.mul(0.5).mul(sn.erf(x.mul(Math.SQRT1_2)).add(1));

/** A training step of conv3x3 16, pool, conv3x3 32, pool, dense 10 on images of 28 x 28. */
const convolutionalStep = (batch) => {
  const layer = (x, { w, b }) =>
    sn.maxPool2d(sn.conv2d(x, w, { padding: 'same' }).add(b).relu(), { window: 2 });
  const loss = ({ convolutions, dense }, x, y) => {
    const features = convolutions.reduce(layer, x).reshape([batch, -1]);
    return sn.softmaxCrossEntropy(features.matmul(dense.w).add(dense.b), y).mean();
  };
  const convolutions = [{ w: zeros(3, 3, 1, 16), b: zeros(16) }, { w: zeros(3, 3, 16, 32), b: zeros(32) }];
  const train = sn.trainStep(loss, sn.optim.sgd({ lr: 0.1 }));
  const params = { convolutions, dense: { w: zeros(7 * 7 * 32, 10), b: zeros(10) } };
  return [train, [train.init(params), zeros(batch, 28, 28, 1), classes(batch)]];
};

/** A training step of a recurrent layer on a sequence. */
const recurrentStep = (net, batch, times, size) => {
  const train = sn.trainStep((p, x, y) => net.apply(p, x).sub(y).square().mean(), sn.optim.adam());
  return [train, [train.init(net.init(sn.random.key(0))), zeros(batch, times, size), zeros(batch, times, size)]];
};

/** The gradient of the last state of an LSTM over a thousand steps. */
const longGradient = (options) => {
  const net = sn.nn.lstm(128, 128, { last: true, timeFirst: true, ...options });
  const loss = (params, x) => net.apply(params, x).square().mean();
  return [sn.grad(loss), [net.init(sn.random.key(0)), zeros(1000, 32, 128)]];
};

/** y' = y - y^2 / p in Euler steps, by scan: the sum of all y. */
const logisticGrowth = (steps) => (y0, p) => {
  const [, all] = sn.scan((y) => {
    const next = y.add(y.sub(y.square().div(p)).mul(0.01));
    return [next, next];
  }, y0, null, { length: steps });
  return all.sum();
};

/** Value and gradient of x + W2 relu(W1 x + b1) + b2 in 64 layers, of width 256. */
const residualGradient = () => {
  const layer = (h, { w1, b1, w2, b2 }) => h.add(h.matmul(w1).add(b1).relu().matmul(w2).add(b2));
  const weights = () => ({ w1: zeros(256, 256), b1: zeros(256), w2: zeros(256, 256), b2: zeros(256) });
  const loss = (params, x) => params.reduce(layer, x).square().mean();
  return [sn.valueAndGrad(loss), [Array.from({ length: 64 }, weights), zeros(128, 256)]];
};

/** A gradient through 4 steps of two layers of soft gates, c0 + c1 a + c2 b + c3 ab, over constant wires. */
const gatesGradient = () => {
  const gates = 256;
  const indices = (step, at) => sn.tensor(Int32Array.from({ length: gates }, (_, i) => (i * step + at) % gates), { dtype: 'int32' });
  const wires = [[indices(7, 1), indices(11, 3)], [indices(13, 5), indices(3, 0)]];
  const layer = (h, [a, b], [c0, c1, c2, c3]) => {
    const x = h.take(a), y = h.take(b);
    return c0.add(c1.mul(x)).add(y.mul(c2.add(c3.mul(x))));
  };
  const step = sn.checkpoint((h, c) => wires.reduce((x, w, i) => layer(x, w, c[i]), h));
  const loss = (h, c) => sn.scan((x) => [step(x, c), null], h, null, { length: 4 })[0].square().sum();
  const coefficients = wires.map(() => Array.from({ length: 4 }, () => zeros(gates, 1)));
  return [sn.grad(loss, { argnums: [0, 1] }), [zeros(gates, 512), coefficients]];
};

/** Name -> [function, arguments, options]. */
const GRAPHS = {
  'mlp-forward': () => {
    const net = sn.nn.sequential(...mlpLayers());
    return [net.apply, [net.init(sn.random.key(0)), zeros(128, 784)]];
  },
  'mlp-adam-step': () => step(mlpLayers(), sn.optim.adam(), 128, 784),
  'mlp-sgd-step': () =>
    step([linear(784, 256), tanh(), linear(256, 10)], sn.optim.sgd({ lr: 0.1 }), 128, 784),
  gelu: () => [gelu, [zeros(1024, 512)]],
  'gelu-gradient': () => [sn.grad((x) => gelu(x).sum()), [zeros(1024, 512)]],
  softmax: () => [(x) => sn.softmax(x), [zeros(1024, 1024)]],
  'cross-entropy': () => [sn.softmaxCrossEntropy, [zeros(128, 10), classes(128)]],
  'cross-entropy-gradient': () =>
    [sn.grad((x, y) => sn.softmaxCrossEntropy(x, y).mean()), [zeros(128, 10), classes(128)]],
  'layer-norm': () => [(x) => {
    const centred = x.sub(x.mean({ axis: -1, keepdims: true }));
    return centred.div(centred.square().mean({ axis: -1, keepdims: true }).add(1e-5).sqrt());
  }, [zeros(1024, 1024)]],
  'linear-relu': () =>
    [(x, w, b) => x.matmul(w).add(b).relu(), [zeros(256, 768), zeros(768, 1024), zeros(1024)]],
  'batched-linear-gelu': () => [(x, w, b, r) => gelu(x.matmul(w).add(b)).add(r),
    [zeros(4, 128, 256), zeros(256, 512), zeros(512), zeros(4, 128, 512)]],
  'batched-linear-gradients': () => [
    sn.grad((w, b, x) => gelu(x.matmul(w).add(b)).sum(), { argnums: [0, 1] }),
    [zeros(256, 512), zeros(512), zeros(4, 128, 256)]],
  'batched-block': () => [(x, { w1, b1, w2, b2, scale, shift }) => { // of a transformer: norm, linear, gelu, linear, residual
    const norm = sn.layerNorm(x, { weight: scale, bias: shift });
    return gelu(norm.matmul(w1).add(b1)).matmul(w2).add(b2).add(x);
  }, [zeros(4, 128, 256), { w1: zeros(256, 1024), b1: zeros(1024), w2: zeros(1024, 256), b2: zeros(256),
    scale: zeros(256), shift: zeros(256) }]],
  'norm-linear': () => [(x, weight, bias, w) => sn.layerNorm(x, { weight, bias }).matmul(w), // of many rows
    [zeros(4096, 256), zeros(256), zeros(256), zeros(256, 64)]],
  'row-maximum': () => [(x, w) => x.matmul(w).max({ axis: -1 }), [zeros(4096, 64), zeros(64, 512)]],
  'half-linear': () => [(x, w, b) => x.matmul(w.astype('float32')).add(b).relu(), // cast in packing
    [zeros(128, 784), zeros(784, 512).astype('float16'), zeros(512)]],
  'byte-linear': () => [(x, w, scale) => x.matmul(w.astype('float32')).mul(scale),
    [zeros(128, 784), zeros(784, 512).astype('int8'), zeros(512)]],
  'conv-relu': () => [(x, w, b) => sn.conv2d(x, w, { padding: 'same' }).add(b).relu(),
    [zeros(1, 56, 56, 64), zeros(3, 3, 64, 64), zeros(64)]],
  'conv-norm-relu': () => [
    (x, w, b, mean, variance) =>
      sn.batchNorm(sn.conv2d(x, w, { padding: 'same' }).add(b), { mean, variance }).relu(),
    [zeros(1, 56, 56, 64), zeros(3, 3, 64, 64), zeros(64), zeros(64), zeros(64)]],
  'conv-gradients': () => [
    sn.grad((x, w, r) => sn.conv2d(x, w, { padding: 'same' }).mul(r).sum(), { argnums: [0, 1] }),
    [zeros(1, 56, 56, 64), zeros(3, 3, 64, 64), zeros(1, 56, 56, 64)]],
  'cnn-sgd-step': () => convolutionalStep(64),
  attention: () => [(q, k, v) => sn.attention(q, k, v, { causal: true }),
    [zeros(1, 8, 512, 64), zeros(1, 8, 512, 64), zeros(1, 8, 512, 64)]],
  'attention-gradient': () => [
    sn.grad((q, k, v) => sn.attention(q, k, v, { causal: true }).sum(), { argnums: [0, 1, 2] }),
    [zeros(1, 8, 512, 64), zeros(1, 8, 512, 64), zeros(1, 8, 512, 64)]],
  'attention-4096-step': () => [
    sn.valueAndGrad((q, k, v) => sn.attention(q, k, v, { causal: true }).tanh().sum(), { argnums: [0, 1, 2] }),
    [zeros(1, 8, 4096, 64), zeros(1, 8, 4096, 64), zeros(1, 8, 4096, 64)]],
  'scan-gradient': () =>
    [sn.valueAndGrad(logisticGrowth(1000), { argnums: [0, 1] }), [sn.tensor(0.5), sn.tensor(2)]],
  'lstm-adam-step': () => recurrentStep(sn.nn.lstm(128, 128), 32, 100, 128),
  'lstm-1000-gradient': () => longGradient(),
  'lstm-1000-gradient-sqrt': () => longGradient({ checkpoint: 'sqrt' }),
  'gru-adam-step': () => recurrentStep(sn.nn.gru(64, 64), 16, 200, 64),
  'example-gradients': () => { // of a network, one for each of 128 examples
    const net = sn.nn.sequential(linear(784, 256), tanh(), linear(256, 10));
    const loss = (p, x, y) => sn.softmaxCrossEntropy(net.apply(p, x), y);
    const each = sn.vmap(sn.grad(loss), { inAxes: [null, 0, 0] });
    return [each, [net.init(sn.random.key(0)), zeros(128, 784), classes(128)]];
  },
  'logistic-hessian': () => [
    sn.hessian((w, x, y) => {
      const z = x.matmul(w);
      return sn.softplus(z).sub(y.mul(z)).mean();
    }), [zeros(100), zeros(1000, 100), zeros(1000)]],
  'gates-gradient': gatesGradient,
  'residual-gradient': residualGradient,
  'residual-gradient-half': () => [...residualGradient(), { memoryBudget: 9_502_720 }],
  views: () =>
    [(x) => x.transpose().slice([0, 1], [64, 62]).pad([[1, 1], [0, 0]]).add(1), [zeros(64, 64)]],
};

const graphRows = (name, make) => sn.tidy(() => {
  const [f, args, options] = make();
  const seen = sn.inspect(f, options)(...args);
  const { nodes, flops, bytes, memory: { arenaBytes, naiveBytes } } = seen;
  seen.dispose();
  return Object.entries({ nodes, kernels: seen.kernels.length, arenaBytes, naiveBytes, flops, bytes })
    .map(([figure, value]) => ({ subject: name, figure, value, exact: true }));
});

// ---- sizes -----------------------------------------------------------------------------------------

/** What a page without a bundler loads; inline.js contains the same in one file. */
const SCRIPTS = ['index.js', 'worker.js'];
/** Modules, and the entry points that pages load on demand. */
const FILES = ['sinter.wasm', 'sinter-mt.wasm', 'source.js', 'logic.js', 'gguf.js', 'llm.js', 'onnx.js', 'report.js', 'webgpu.js', 'sinter-gpu-mt.wasm'];

/** The training program of README.md, bundled by Vite into one script with the code that it imports. */
const bundledProgram = async () => {
  const [, program] = /```js\n([^]*?trainStep[^]*?)```/.exec(readFileSync(readme, 'utf8'));
  const bundle = await rolldown({
    input: 'program',
    plugins: [{
      name: 'program',
      resolveId: (id) => ({ program: { id }, sinter: { id: join(dist, 'index.js') } })[id],
      load: (id) => (id === 'program' ? program : null),
    }],
    external: /^node:/,
  });
  const { output: [{ code }] } = await bundle.generate({ minify: true });
  await bundle.close();
  return Buffer.from(code);
};

const sizesOf = (subject, files) => [
  { subject, figure: 'bytes', value: files.reduce((sum, bytes) => sum + bytes.length, 0), exact: false },
  { subject, figure: 'gzipBytes', value: files.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0), exact: false },
];

const sizeRows = async () => {
  const read = (name) => readFileSync(join(dist, name));
  return [
    ...FILES.flatMap((name) => sizesOf(name, [read(name)])),
    ...sizesOf('javascript', [Buffer.concat(SCRIPTS.map(read))]),
    ...sizesOf('javascript of a bundled program that trains', [await bundledProgram(), read('worker.js')]),
  ];
};

// ---- the file --------------------------------------------------------------------------------------

/** The figures of the current build. Sizes also depend on the build tools, so their exact is false. */
export const measured = async () => {
  await sn.init({ threads: 1 });
  return [...Object.entries(GRAPHS).flatMap(([name, make]) => graphRows(name, make)), ...await sizeRows()];
};

/** The committed figures. */
export const committed = () => {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [subject, figure, value] = line.split(',');
    return { subject, figure, value: Number(value) };
  });
};

const toCsv = (rows) => ['subject,figure,value',
  ...rows.map(({ subject, figure, value }) => `${subject},${figure},${value}`), ''].join('\n');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = toCsv(await measured());
  if (process.argv[2] === '--write') writeFileSync(file, text);
  else process.stdout.write(text);
  process.exit(0);
}
