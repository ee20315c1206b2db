// The networks of the examples, built from the library's layers: a module, and its description.

import * as sn from 'sinter';
import { HEADS } from '../state/examples.ts';
import { SIDE } from './mnist.ts';

export const CLASSES = 10;

export interface Network {
  module: sn.nn.Module;
  about: string;
}

/** `image`: the shape in which a network takes one. */
export interface DigitNetwork extends Network {
  image: number[];
}

export function mlp(hidden: readonly number[]): DigitNetwork {
  const widths = [SIDE * SIDE, ...hidden];
  const layers = hidden.flatMap((size, i) => [sn.nn.linear(widths[i], size), sn.nn.relu()]);
  return {
    module: sn.nn.sequential(...layers, sn.nn.linear(widths[hidden.length], CLASSES)),
    about: `A network ${[...widths, CLASSES].join(' – ')}`,
    image: [SIDE * SIDE],
  };
}

const FILTER = 3;
const POOL = 2;

export function cnn(channels: readonly number[]): DigitNetwork {
  const layers = channels.flatMap((count, i) => [
    sn.nn.conv2d(i === 0 ? 1 : channels[i - 1], count, FILTER, { padding: 'same' }),
    sn.nn.relu(),
    sn.nn.maxPool2d(POOL),
  ]);
  const side = channels.reduce((size) => Math.floor(size / POOL), SIDE);
  const features = side * side * channels[channels.length - 1];
  const steps = channels.map((count) => `convolution ${FILTER}×${FILTER} to ${count} – pool`);
  return {
    module: sn.nn.sequential(...layers, sn.nn.flatten(), sn.nn.linear(features, CLASSES)),
    about: `A network ${SIDE}×${SIDE} – ${steps.join(' – ')} – ${CLASSES}`,
    image: [SIDE, SIDE, 1],
  };
}

/** Adds a learnt vector for each place of the context. */
function places(context: number, width: number): sn.nn.Module<sn.Tensor> {
  const range = { minval: -1 / Math.sqrt(width), maxval: 1 / Math.sqrt(width) };
  return {
    init: (key) => sn.random.uniform(key, [context, width], range),
    apply: (table, x) => sn.add(x, table),
  };
}

/** Int32 letters (n, context) -> scores of the letter after each (n, context, letters). */
export function transformer([blocks, width, context]: readonly number[], letters: number): Network {
  const { embedding, gelu, layerNorm, linear, residual, selfAttention, sequential } = sn.nn;
  const block = (): sn.nn.Module =>
    sequential(
      residual(layerNorm(width), selfAttention(width, HEADS, { causal: true })),
      residual(layerNorm(width), linear(width, 4 * width), gelu(), linear(4 * width, width)),
    );
  return {
    module: sequential(
      embedding(letters, width),
      places(context, width),
      ...Array.from({ length: blocks }, block),
      layerNorm(width),
      linear(width, letters),
    ),
    about: `A transformer of ${blocks} blocks with ${HEADS} heads, ${width} wide, that sees ${context} of ${letters} letters`,
  };
}
