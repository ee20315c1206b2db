// cases.mjs - what is compared: a name, the op and its sizes, and how many times as fast as the best of
// the others Sinter is to be.
export const CASES = [
  { name: 'relu 100K', op: 'relu', shape: [100, 1000], asked: 2 },
  { name: 'relu 1M', op: 'relu', shape: [1000, 1000], asked: 2 },
  { name: 'relu 999,999', op: 'relu', shape: [999, 1001], asked: 2 },
  { name: 'add 1M', op: 'add', shape: [1000, 1000], asked: 1.5 },
  { name: 'tanh 100K', op: 'tanh', shape: [100, 1000], asked: 4 },
  { name: 'tanh 1M', op: 'tanh', shape: [1000, 1000], asked: 4 },
  { name: 'gelu 1000x512', op: 'gelu', shape: [1000, 512], asked: 5 },
  { name: 'gelu 4096x1024', op: 'gelu', shape: [4096, 1024], asked: 5 },
  { name: 'sum 1M', op: 'sum', shape: [1000, 1000], asked: 4 },
  { name: 'softmax 1024x1024', op: 'softmax', shape: [1024, 1024], asked: 1.5 },
  { name: 'softmax 999x1025', op: 'softmax', shape: [999, 1025], asked: 1.5 },
  { name: 'layernorm 1024x1024', op: 'layernorm', shape: [1024, 1024], asked: 10 },
  { name: 'sigmoid(xy+z)x - y^2/2 1M', op: 'fused', shape: [1000, 1000], asked: 8 },
  { name: 'matmul 256', op: 'matmul', sizes: [256, 256, 256] },
  { name: 'matmul 512', op: 'matmul', sizes: [512, 512, 512] },
  { name: 'matmul 1000', op: 'matmul', sizes: [1000, 1000, 1000] },
  { name: 'matmul 128x784x512', op: 'matmul', sizes: [128, 784, 512] },
  { name: 'MLP training step', op: 'train', widths: [784, 256, 128, 10], batch: 128, asked: 4 },
];

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

/** Images, one-hot labels and the layers' first parameters of a training case. */
export const trainingData = ({ widths, batch }) => ({
  images: numbers([batch, widths[0]], 1),
  classes: Int32Array.from({ length: batch }, (_, i) => i % widths.at(-1)),
  layers: widths.slice(1).map((width, i) => ({
    shape: [widths[i], width],
    weight: numbers([widths[i], width], i + 2).map((x) => x * 0.05),
  })),
});
