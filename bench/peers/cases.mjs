// cases.mjs - what is compared: a name, the op and its sizes, and how many times as fast as the best of
// the others Sinter is to be, or (askedMs) how long it may take. "fused" is sigmoid(x y + z) x - y^2 / 2.
//
// Each figure is asked for the first shape of its op and for others of the same kind: odd ones, too.
import { EXPECTED, PARAMETERS } from '../simulation.mjs';

const rows = (op, asked, ...named) => named.map(([label, shape, without]) =>
  ({ name: `${op} ${label}`, op, shape, ...(without ? {} : { asked }) }));
const flat = { '1K': [1, 1000], '100K': [100, 1000], '1M': [1000, 1000], '999,999': [999, 1001], '99,225': [315, 315] };
const of = (label) => [label, flat[label]];
const by = (m, n) => [`${m}x${n}`, [m, n]];
const UNASKED = true;
const product = (m, k, n) => ({ name: `matmul ${m}x${k}x${n}`, op: 'matmul', sizes: [m, k, n] });
const training = (batch, ...widths) =>
  ({ name: `training step ${widths.join('-')}, ${batch}`, op: 'train', widths, batch, asked: 4 });

export const CASES = [
  ...rows('relu', 2, [...of('1K'), UNASKED], of('100K'), of('99,225'), of('1M'), of('999,999')),
  ...rows('add', 1.5, of('1M'), of('999,999')),
  ...rows('tanh', 4, [...of('1K'), UNASKED], of('100K'), of('99,225'), of('1M'), of('999,999')),
  ...rows('gelu', 5, by(4096, 1024), by(1000, 512), by(2048, 768), by(1023, 1025)),
  ...rows('sum', 4, of('1M'), of('999,999')),
  ...rows('softmax', 1.5, by(1024, 1024), by(1023, 1025), by(999, 257)),
  ...rows('layernorm', 10, by(1024, 1024), by(1023, 1025), by(999, 257)),
  ...rows('fused', 8, of('1M'), of('999,999')),
  product(256, 256, 256),
  product(512, 512, 512),
  product(1000, 1000, 1000),
  product(128, 784, 512),
  product(127, 785, 511),
  training(128, 784, 256, 128, 10),
  training(100, 784, 300, 100, 10),
  { name: 'building simulation', op: 'simulate', askedMs: 0.01 },
];

/** The simulation's parameters as scalars, 20 and the start; and its loss and derivative by the start. */
export const simulationData = () => {
  const { start, ...vectors } = PARAMETERS;
  return [...Object.values(vectors).flat(), start];
};
export const SIMULATED = [EXPECTED.loss, EXPECTED.start];

/** Operand `which` of a case: its shape, and numbers of a fixed sequence in [-1, 1). */
export const operandShapes = ({ op, shape, sizes }) => {
  if (op === 'matmul') return [sizes.slice(0, 2), sizes.slice(1)];
  const count = { add: 2, fused: 3 }[op] ?? 1;
  return Array.from({ length: count }, () => shape);
};

export const numbers = (shape, seed) => {
  let state = seed * 2654435761 + 12345;
  return Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
};

/** Images, labels as classes and as distributions, and the layers' first parameters of a training case. */
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
