// onnx-worker.mjs - the rows of onnx.mjs, in Node or as a worker of a page. An order's answer:
//   compare { name, rounds }  the same file in sinter/onnx and in onnxruntime-web, in turns: { own, peer, worst }, milliseconds of
//                             each sample, and how far results are apart, relative to the largest
//   profile { name }          the kernels of a call
//   finetune                  the last two blocks of MobileNetV2, and what is behind them, trained on 100 images
import * as sn from '../js/dist/index.js';
import * as onnx from '../js/dist/onnx.js';
import { WIDTH, encoder, fourBits, mobileNet } from './onnx-models.mjs';

const SAMPLE_MS = 250;
const WARM_MS = 2500; // engines compile hot code late
const isPage = typeof WorkerGlobalScope === 'function';

let ort;

const ids = (batch, sequence, most) => ({ type: 'int64', shape: [batch, sequence], elements: Int32Array.from({ length: batch * sequence }, (_, i) => 1 + ((i * 7919) % most)) });
const flags = (batch, sequence, flag) => ({ type: 'int64', shape: [batch, sequence], elements: new Int32Array(batch * sequence).fill(flag) });
const sentences = (batch) => ({ input_ids: ids(batch, 32, 30000), attention_mask: flags(batch, 32, 1), token_type_ids: flags(batch, 32, 0) });
const image = (batch) => ({ image: { type: 'float32', shape: [batch, 3, 224, 224], elements: Float32Array.from({ length: batch * 3 * 224 * 224 }, (_, i) => Math.sin(i * 0.37) + Math.sin(i * 0.0011)) } });

const tokens = (rows) => ({ x: { type: 'float32', shape: [rows, WIDTH], elements: Float32Array.from({ length: rows * WIDTH }, (_, i) => Math.sin(i * 0.37)) } });

/** asked: the goal, as a multiple of the peer's speed. */
export const ROWS = [
  { name: 'encoder float32, a sentence', asked: 1.5, file: () => encoder({ sequence: 32 }), inputs: sentences(1) },
  { name: 'encoder float32, 64 sentences', asked: 1.3, file: () => encoder({ sequence: 32 }), inputs: sentences(64) },
  { name: 'encoder int8, a sentence', asked: 1.5, file: () => encoder({ isSmall: true, sequence: 32 }), inputs: sentences(1) },
  { name: 'encoder int8, 64 sentences', asked: 1.3, file: () => encoder({ isSmall: true, sequence: 32 }), inputs: sentences(64) },
  { name: 'MobileNetV2, an image', asked: 1.3, file: mobileNet, inputs: image(1) },
  { name: '4 bits, a token', asked: 1.3, file: () => fourBits(0), inputs: tokens(1) },
  { name: '4 bits, 128 tokens', asked: 1.3, file: () => fourBits(0), inputs: tokens(128) },
  { name: '4 by 8 bits, a token', asked: 1.3, file: () => fourBits(4), inputs: tokens(1) },
  { name: '4 by 8 bits, 128 tokens', asked: 1.3, file: () => fourBits(4), inputs: tokens(128) },
];

const own = (file, inputs) => {
  const model = onnx.load(file);
  const given = Object.fromEntries(Object.entries(inputs).map(([name, { shape, elements }]) => [name, sn.tensor(elements, { shape })]));
  return {
    async call() {
      const results = Object.values(model.run(given));
      const values = await results[0].data();
      for (const t of results) t.dispose();
      return values;
    },
    profile: async () => {
      const { kernels } = await sn.profile(() => Object.values(model.run(given))[0].data());
      return kernels.map(({ name, kind, ms, calls, gflops, gbps }) => ({ name, kind, ms, calls, gflops, gbps }));
    },
    async release() {
      model.dispose();
      for (const t of Object.values(given)) t.dispose();
    },
  };
};

const peer = async (file, inputs) => {
  const session = await ort.InferenceSession.create(file, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' });
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, { type, shape, elements }]) => [name, new ort.Tensor(type, type === 'int64' ? BigInt64Array.from(elements, BigInt) : elements, shape)]),
  );
  return { call: async () => Object.values(await session.run(given))[0].data, release: () => session.release() };
};

const during = async (call, ms) => {
  const begin = performance.now();
  let calls = 0;
  for (; performance.now() - begin < ms; calls++) await call();
  return (performance.now() - begin) / calls;
};

const apart = (a, b) => {
  let [worst, most] = [0, 0];
  b.forEach((value, i) => {
    worst = Math.max(worst, Math.abs(a[i] - value));
    most = Math.max(most, Math.abs(value));
  });
  return worst / most;
};

export const open = async () => {
  ort = await import(isPage ? '/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs' : 'onnxruntime-web');
  ort.env.wasm.numThreads = 2;
  ort.env.logLevel = 'error';
  const { threads, isa } = await sn.init({ threads: 2 });
  return { threads, isa };
};

export const compare = async ({ name, rounds }) => {
  const { file, inputs } = ROWS.find((row) => row.name === name);
  const bytes = file();
  const both = { own: own(bytes, inputs), peer: await peer(bytes, inputs) };
  const worst = apart(await both.own.call(), await both.peer.call());
  const samples = { own: [], peer: [] };
  for (const each of Object.values(both)) await during(each.call, WARM_MS);
  for (let round = 0; round < rounds; round++) for (const who of Object.keys(both)) samples[who].push(await during(both[who].call, SAMPLE_MS));
  for (const each of Object.values(both)) await each.release();
  return { ...samples, worst };
};

export const profile = async ({ name }) => {
  const { file, inputs } = ROWS.find((row) => row.name === name);
  const model = own(file(), inputs);
  await during(model.call, WARM_MS);
  const kernels = await model.profile();
  await model.release();
  return kernels;
};

const IMAGES = 100;
const BATCH = 10;
const EPOCHS = 10;
const CLASSES = 4;

/** Images whose classes differ in their stripes. */
const stripes = (image, label) => Float32Array.from({ length: 3 * 224 * 224 }, (_, i) => Math.sin((i % 224) * 0.05 * (label + 1) + image) + 0.3 * Math.sin(i * 12.9898 * (image + 1)));

/** The seconds of the part that is computed once, of the first step and of all steps; and the loss before and after them. */
export const finetune = async () => {
  const bytes = mobileNet();
  const begin = performance.now();
  const seconds = () => (performance.now() - begin) / 1e3;
  const cut = 'features.15.out';
  const [frozen, tuned] = [onnx.load(bytes, { outputs: [cut] }), onnx.load(bytes, { inputs: [cut] })];
  const labels = Int32Array.from({ length: IMAGES }, (_, i) => i % CLASSES);
  const features = [];
  for (let i = 0; i < IMAGES; i += BATCH) {
    const pixels = Array.from({ length: BATCH }, (_, k) => stripes(i + k, labels[i + k]));
    const batch = sn.stack(pixels.map((each) => sn.tensor(each, { shape: [3, 224, 224] })));
    features.push(frozen.run({ image: batch })[cut]);
    await sn.eval(features.at(-1));
    batch.dispose();
  }
  frozen.dispose();
  const once = seconds();
  const loss = (params, given, wanted) => sn.softmaxCrossEntropy(tuned.apply(params, { [cut]: given }).logits, wanted).mean();
  const step = sn.trainStep(loss, sn.optim.adam({ lr: 1e-4 }));
  let state = step.init(tuned.params);
  const targets = features.map((_, i) => sn.tensor(labels.subarray(i * BATCH, (i + 1) * BATCH), { dtype: 'int32' }));
  const losses = [];
  let first = 0;
  for (let epoch = 0; epoch < EPOCHS; epoch++)
    for (let i = 0; i < features.length; i++) {
      const made = step(state, features[i], targets[i]);
      ({ state } = made);
      losses.push((await made.loss.data())[0]);
      first ||= seconds() - once;
    }
  const file = tuned.save(step.params(state));
  const mean = (list) => list.reduce((a, b) => a + b) / list.length;
  return { once, first, all: seconds(), steps: losses.length, before: mean(losses.slice(0, features.length)), after: mean(losses.slice(-features.length)), bytes: file.length };
};

if (isPage)
  onmessage = ({ data }) =>
    ({ open, compare, profile, finetune })[data.order](data).then(
      (answer) => postMessage({ value: answer }),
      (error) => postMessage({ error: String(error.stack) }),
    );
