// The networks of the examples: the modules of programs/, which the page shows, and what they are in words.

import * as sn from 'sinter';
import { HEADS } from '../state/examples.ts';
import * as cnnProgram from './programs/cnn.ts';
import * as mlpProgram from './programs/mlp.ts';
import * as transformerProgram from './programs/transformer.ts';
import { PIXELS, SIDE } from './mnist.ts';

export const CLASSES = 10;

export interface Network {
  module: sn.nn.AnyModule;
  optimizer(learningRate: number): sn.optim.Optimizer;
  /** What the optimizer's lr is for a learning rate. */
  rate(learningRate: number): sn.optim.LearningRate;
  about: string;
}

/** `image`: the shape in which a network takes one. */
export interface DigitNetwork extends Network {
  image: number[];
}

export function mlp(hidden: readonly number[]): DigitNetwork {
  const { network, optimizer, rate } = mlpProgram;
  return {
    module: network(hidden),
    optimizer,
    rate,
    about: `A network ${[PIXELS, ...hidden, CLASSES].join(' – ')}`,
    image: [PIXELS],
  };
}

export function cnn(channels: readonly number[]): DigitNetwork {
  const { network, optimizer, rate } = cnnProgram;
  const steps = channels.map((count) => `convolution 3×3 to ${count} – pool – batch norm`);
  return {
    module: network(channels),
    optimizer,
    rate,
    about: `A network ${SIDE}×${SIDE} – ${steps.join(' – ')} – dropout – ${CLASSES}`,
    image: [SIDE, SIDE, 1],
  };
}

export function transformer([blocks, width, context]: readonly number[], letters: number): Network {
  const { network, optimizer, rate } = transformerProgram;
  return {
    module: network(blocks, width, context, HEADS, letters),
    optimizer,
    rate,
    about: `A transformer of ${blocks} blocks with ${HEADS} heads, ${width} wide, that sees ${context} of ${letters} letters`,
  };
}
