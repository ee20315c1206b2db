// cases.mjs - the cases that are compared: a name, the op and its sizes, and the goal. The goal is how many times as fast
// as the best other library Sinter should be, or (askedMs) how long it may take. "fused" is sigmoid(x y + z) x - y^2 / 2.
//
// Each goal holds for the first shape of its op and for others of the same kind, odd ones too.
import { EXPECTED, PARAMETERS } from '../simulation.mjs';

const rows = (op, asked, ...named) => named.map(([label, shape, without]) =>
  ({ name: `${op} ${label}`, op, shape, ...(without ? {} : { asked }) }));
const flat = { '1K': [1, 1000], '100K': [100, 1000], '1M': [1000, 1000], '999,999': [999, 1001], '99,225': [315, 315] };
const of = (label) => [label, flat[label]];
const by = (m, n) => [`${m}x${n}`, [m, n]];
const UNASKED = true;
export const LETTERS = 65;
const flopsOf = (m, k, n) => 2 * m * k * n;
const product = (asked, m, k, n) =>
  ({ name: `matmul ${m}x${k}x${n}`, op: 'matmul', sizes: [m, k, n], flops: flopsOf(m, k, n), asked });
const linear = (m, k, n) =>
  ({ name: `linear+gelu ${m}x${k}x${n}`, op: 'linear', sizes: [m, k, n], flops: flopsOf(m, k, n), asked: 1.7 });
const conv = (side, channels) => ({
  name: `conv 3x3 ${channels}->${channels} ${side}x${side}`, op: 'conv', side, channels,
  flops: flopsOf(side * side, 9 * channels, channels), asked: 1.7,
});
const attention = (heads, tokens, size) => ({
  name: `attention ${heads}x${tokens}x${size}`, op: 'attention', shape: [1, heads, tokens, size],
  flops: 2 * heads * flopsOf(tokens, size, tokens), asked: 1.7,
});
/** The operations forward and backward to the weights, and, for all layers but the first, backward to the input. */
const cnnFlops = (batch) =>
  batch * (2 * flopsOf(28 * 28, 9, 16) + 3 * flopsOf(14 * 14, 9 * 16, 32) + 3 * flopsOf(1, 7 * 7 * 32, 10));
const cnn = (batch) => ({ name: `CNN training step, ${batch}`, op: 'cnn', batch, flops: cnnFlops(batch), asked: 50 });
const training = (batch, ...widths) =>
  ({ name: `training step ${widths.join('-')}, ${batch}`, op: 'train', widths, batch, asked: 4 });

/** A training step of the transformer of letters: learnt positions, pre-norm blocks, GELU, an untied head. */
const gpt = (width, blocks, heads, context, batch) => ({
  name: `GPT training step ${width}, ${blocks} blocks, ${context}, ${batch}`, op: 'gpt', width, blocks, heads, context, batch,
  flops: 3 * batch * context * (blocks * (24 * width * width + 4 * width * context) + 2 * width * LETTERS),
});

export const CASES = [
  ...rows('relu', 2, [...of('1K'), UNASKED], of('100K'), of('99,225'), of('1M'), of('999,999')),
  ...rows('add', 1.5, of('1M'), of('999,999')),
  ...rows('tanh', 4, [...of('1K'), UNASKED], of('100K'), of('99,225'), of('1M'), of('999,999')),
  ...rows('gelu', 5, by(4096, 1024), by(1000, 512), by(2048, 768), by(1023, 1025)),
  ...rows('sum', 4, of('1M'), of('999,999')),
  ...rows('softmax', 1.5, by(1024, 1024), by(1023, 1025), by(999, 257)),
  ...rows('layernorm', 10, by(1024, 1024), by(1023, 1025), by(999, 257)),
  ...rows('fused', 8, of('1M'), of('999,999')),
  product(1.3, 256, 256, 256),
  product(1.3, 512, 512, 512),
  product(1.3, 1000, 1000, 1000),
  product(1.5, 128, 784, 512),
  product(1.5, 127, 785, 511),
  linear(512, 1024, 2048),
  conv(56, 64),
  conv(55, 63),
  attention(8, 512, 64),
  attention(7, 511, 65),
  cnn(64),
  training(128, 784, 256, 128, 10),
  training(100, 784, 300, 100, 10),
  { name: 'building simulation', op: 'simulate', askedMs: 0.01 },
];

/** Cases only for graphics processors; the second one is too large for one in software. */
export const TRANSFORMERS = [gpt(96, 3, 4, 64, 16), gpt(256, 8, 8, 128, 8)];

/** The simulation's parameters as scalars, 20 and the start; and its loss, and the derivative of the loss by the start. */
export const simulationData = () => {
  const { start, ...vectors } = PARAMETERS;
  return [...Object.values(vectors).flat(), start];
};
export const SIMULATED = [EXPECTED.loss, EXPECTED.start];

/** Operand `which` of a case: its shape, and its numbers, from a fixed sequence in [-1, 1). */
export const operandShapes = ({ op, shape, sizes, side, channels }) => {
  if (op === 'matmul') return [sizes.slice(0, 2), sizes.slice(1)];
  if (op === 'linear') return [sizes.slice(0, 2), sizes.slice(1), sizes.slice(2)];
  if (op === 'conv') return [[1, side, side, channels], [3, 3, channels, channels]];
  const count = { add: 2, fused: 3, attention: 3 }[op] ?? 1;
  return Array.from({ length: count }, () => shape);
};

export const numbers = (shape, seed) => {
  let state = seed * 2654435761 + 12345;
  return Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
};

/** The row-major data of a shape with its axes in another order. */
export const permuted = (data, shape, order) => {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  const sizes = order.map((axis) => shape[axis]);
  const steps = order.map((axis) => strides[axis]);
  return Float32Array.from({ length: data.length }, (_, i) => {
    let [rest, from] = [i, 0];
    for (let axis = sizes.length - 1; axis >= 0; axis -= 1) {
      from += (rest % sizes[axis]) * steps[axis];
      rest = Math.floor(rest / sizes[axis]);
    }
    return data[from];
  });
};
/** The orders of axes for channels-first libraries: of images, of filters, and of results converted back. */
export const [TO_NCHW, TO_OIHW, TO_NHWC] = [[0, 3, 1, 2], [3, 2, 0, 1], [0, 2, 3, 1]];

/** Images (batch, 28, 28, 1), and labels as classes and as distributions. Filters (kh, kw, in, out) of two convolutions, each
 *  followed by a pool. The weight of the last layer, with rows in the order (h, w, channel). */
export const cnnData = ({ batch }) => {
  const scaled = (shape, seed, factor) => ({ shape, data: numbers(shape, seed).map((x) => x * factor) });
  return {
    images: scaled([batch, 28, 28, 1], 1, 1),
    classes: Int32Array.from({ length: batch }, (_, i) => i % 10),
    distributions: Float32Array.from({ length: batch * 10 }, (_, i) => Number(i % 10 === Math.floor(i / 10) % 10)),
    filters: [scaled([3, 3, 1, 16], 2, 0.5), scaled([3, 3, 16, 32], 3, 0.14)],
    dense: scaled([7 * 7 * 32, 10], 4, 0.04),
  };
};
/** The learning rate of plain gradient descent. */
export const CNN_RATE = 1e-3;

/** The images, the labels as classes and as distributions, and the layers' initial parameters of a training case. */
export const trainingData = ({ widths, batch }) => ({
  images: numbers([batch, widths[0]], 1),
  classes: Int32Array.from({ length: batch }, (_, i) => i % widths.at(-1)),
  distributions: Float32Array.from({ length: batch * widths.at(-1) }, (_, i) => {
    const [row, column] = [Math.floor(i / widths.at(-1)), i % widths.at(-1)];
    return Number(column === row % widths.at(-1));
  }),
  layers: widths.slice(1).map((width, i) => ({
    shape: [widths[i], width],
    weight: numbers([widths[i], width], i + 2).map((x) => x * 0.05),
  })),
});

/** Letters and the letters that follow them; and the parameters of a transformer without biases in its products:
 *  { name: { shape, data } } for each block, and for the layers around the blocks. */
export const gptData = ({ width, blocks, context, batch }) => {
  let seed = 1;
  const made = (shape, factor) => ({ shape, data: numbers(shape, seed++).map((x) => x * factor) });
  const ones = (size) => ({ shape: [size], data: new Float32Array(size).fill(1) });
  const zeros = (size) => ({ shape: [size], data: new Float32Array(size) });
  const product = (from, to) => made([from, to], 1 / Math.sqrt(from));
  const norm = (name) => ({ [`${name}Scale`]: ones(width), [`${name}Shift`]: zeros(width) });
  const block = () => ({
    ...norm('first'), query: product(width, width), key: product(width, width), value: product(width, width), mixed: product(width, width),
    ...norm('second'), up: product(width, 4 * width), down: product(4 * width, width),
  });
  const letters = (first) => numbers([batch, context], first).map((x) => Math.floor(((x + 1) / 2) * LETTERS));
  return {
    letters: Int32Array.from(letters(1001)),
    targets: Int32Array.from(letters(1002)),
    around: { letter: made([LETTERS, width], 0.1), place: made([context, width], 0.1), ...norm('last'), head: product(width, LETTERS) },
    blocks: Array.from({ length: blocks }, block),
  };
};
