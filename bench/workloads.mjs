// workloads.mjs - the list of what npm run bench measures. Every variant implements the kinds. Only this file says the sizes,
// and what a call computes and moves.

/** The products of one training step: forward; backward to the weights and, except for the first layer, to the inputs. */
const mlpFlops = ([batch, ...widths]) => {
  let flops = 0;
  for (let l = 0; l + 1 < widths.length; l += 1) {
    flops += 2 * batch * widths[l] * widths[l + 1] * (l === 0 ? 2 : 3);
  }
  return flops;
};

const matmulFlops = ([m, k, n]) => 2 * m * k * n;

/** The same for the CNN: 3x3 on 28x28 to 16 channels, on 14x14 to 32, and a linear layer from 7x7. */
const cnnFlops = ([batch]) => batch * (2 * matmulFlops([28 * 28, 9, 16]) +
  3 * matmulFlops([14 * 14, 9 * 16, 32]) + 3 * matmulFlops([1, 7 * 7 * 32, 10]));

const FLOAT = 4;

/** flops: the operations of one call; bytes: the least that it reads and writes. A row shows the rate that limits it. */
const KINDS = {
  mlp: { flops: mlpFlops },
  cnn: { flops: cnnFlops },
  matmul: { flops: matmulFlops },
  linear_gelu: { flops: matmulFlops },
  conv: { flops: ([side, channels]) => matmulFlops([side * side, 9 * channels, channels]) },
  attention: { flops: ([heads, tokens, size]) => 4 * heads * tokens * tokens * size },
  relu: { bytes: ([n]) => 2 * FLOAT * n },
  tanh: { bytes: ([n]) => 2 * FLOAT * n },
  add: { bytes: ([n]) => 3 * FLOAT * n },
  sum: { bytes: ([n]) => FLOAT * n },
  gelu: { bytes: ([m, n]) => 2 * FLOAT * m * n },
  softmax: { bytes: ([m, n]) => 2 * FLOAT * m * n },
  layer_norm: { bytes: ([m, n]) => 2 * FLOAT * m * n },
  fused: { bytes: ([n]) => 4 * FLOAT * n },
  cross_entropy: { bytes: ([rows, classes]) => FLOAT * rows * (classes + 2) },
  eager_relu: { bytes: ([n]) => 2 * FLOAT * n },
};

const LIST = [
  ['MLP 784-256-128-10 step', 'mlp', 128, 784, 256, 128, 10],
  ['CNN step, 64 images', 'cnn', 64],
  ['matmul 256', 'matmul', 256, 256, 256],
  ['matmul 512', 'matmul', 512, 512, 512],
  ['matmul 1000', 'matmul', 1000, 1000, 1000],
  ['matmul 128x784x512', 'matmul', 128, 784, 512],
  ['linear+gelu 512x1024x2048', 'linear_gelu', 512, 1024, 2048],
  ['conv 3x3 64->64 56x56', 'conv', 56, 64],
  ['attention 8x512x64', 'attention', 8, 512, 64],
  ['relu 1K (a jit call)', 'relu', 1000],
  ['relu 1K (eager)', 'eager_relu', 1000],
  ['relu 100K', 'relu', 100_000],
  ['relu 1M', 'relu', 1_000_000],
  ['tanh 1K', 'tanh', 1000],
  ['tanh 100K', 'tanh', 100_000],
  ['tanh 1M', 'tanh', 1_000_000],
  ['add 1K', 'add', 1000],
  ['add 100K', 'add', 100_000],
  ['add 1M', 'add', 1_000_000],
  ['sum 1M', 'sum', 1_000_000],
  ['gelu 4096x1024', 'gelu', 4096, 1024],
  ['softmax 1024x1024', 'softmax', 1024, 1024],
  ['layernorm 1024x1024', 'layer_norm', 1024, 1024],
  ['sigmoid(xy+z)x - y^2/2 1M', 'fused', 1_000_000],
  ['cross-entropy 128x10', 'cross_entropy', 128, 10],
];

export const workloads = LIST.map(([name, kind, ...sizes]) => ({
  name,
  kind,
  /** In the form of the variants' commands. */
  text: [kind, ...sizes].join(' '),
  flops: KINDS[kind].flops?.(sizes) ?? 0,
  bytes: KINDS[kind].bytes?.(sizes) ?? 0,
}));
