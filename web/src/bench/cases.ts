// The cases of the benchmark: names and floating-point operations. workers/cases.ts has the computations.

export interface Case {
  id: string;
  title: string;
  /** The name beside its bar, where space is short. */
  short: string;
  /** Floating-point operations in the products of one call. */
  flops: number;
  /** Whether it is also measured without fusion. */
  fuses: boolean;
}

const product = (m: number, k: number, n: number): number => 2 * m * k * n;

const matmul = (m: number, k: number, n: number, short: string): Case => ({
  id: `matmul-${m}-${k}-${n}`,
  title: `matmul ${m} × ${k} × ${n}`,
  short,
  flops: product(m, k, n),
  fuses: false,
});

export const CONV = { side: 56, channels: 64, filter: 3 };
export const ATTENTION = { heads: 8, tokens: 512, size: 64 };
export const LINEAR = { m: 512, k: 1024, n: 2048 };
/** The CNN: images of 28 x 28, two convolutions, each followed by a pool, and a dense layer. */
export const CNN = { batch: 64, side: 28, channels: [16, 32], filter: 3, classes: 10 };

/** Operations of the forward pass and of the weights' gradients; for all layers but the first also of the inputs' gradients. */
function cnnFlops(): number {
  const { batch, side, channels, filter, classes } = CNN;
  let [flops, width, inputs] = [0, side, 1];
  for (const [i, count] of channels.entries()) {
    flops += (i === 0 ? 2 : 3) * product(batch * width * width, filter * filter * inputs, count);
    width /= 2;
    inputs = count;
  }
  return flops + 3 * product(batch, width * width * inputs, classes);
}

export const CASES: readonly Case[] = [
  matmul(256, 256, 256, '256³'),
  matmul(512, 512, 512, '512³'),
  matmul(1000, 1000, 1000, '1000³'),
  matmul(128, 784, 512, '128×784×512'),
  {
    id: 'linear-gelu',
    title: `linear + GELU ${LINEAR.m} × ${LINEAR.k} × ${LINEAR.n}`,
    short: 'linear+GELU',
    flops: product(LINEAR.m, LINEAR.k, LINEAR.n),
    fuses: true,
  },
  {
    id: 'conv',
    title: `conv 3×3 ${CONV.channels} → ${CONV.channels}, ${CONV.side} × ${CONV.side}, bias, ReLU`,
    short: 'conv 3×3',
    flops: product(CONV.side ** 2, CONV.filter ** 2 * CONV.channels, CONV.channels),
    fuses: true,
  },
  {
    id: 'attention',
    title: `attention ${ATTENTION.heads} heads × ${ATTENTION.tokens} × ${ATTENTION.size}`,
    short: 'attention',
    flops: 2 * ATTENTION.heads * product(ATTENTION.tokens, ATTENTION.size, ATTENTION.tokens),
    fuses: true,
  },
  {
    id: 'cnn',
    title: `CNN training step, ${CNN.batch} images`,
    short: 'CNN step',
    flops: cnnFlops(),
    fuses: true,
  },
];
