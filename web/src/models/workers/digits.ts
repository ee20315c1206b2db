// Makes a small convolutional network that learns to read digits, as an ONNX file.

import * as sn from 'sinter';
import * as onnx from 'sinter/onnx';
import { standardise } from '../../trainer/batches.ts';
import { digits as digitSet } from '../../program/workers/playground.ts';
import type { Examples } from '../protocol.ts';
import { training, type Recipe } from './making.ts';

const { nn } = sn;

const STEPS = 150;
const BATCH = 64;
const SIDE = 28;
const EXAMPLES = 250;

/** Digits of the test set, as grey values between 0 and 1. */
export async function digitExamples(input: string, shape: number[], upsideDown: boolean): Promise<Examples> {
  const { test } = await digitSet({ batch: BATCH, shape: [SIDE, SIDE, 1] });
  const pixels = SIDE * SIDE;
  const values = Float32Array.from({ length: EXAMPLES * pixels }, (_, i) => {
    const [digit, place] = [Math.floor(i / pixels), i % pixels];
    const row = Math.floor(place / SIDE);
    return test.images[digit * pixels + (upsideDown ? SIDE - 1 - row : row) * SIDE + (place % SIDE)] / 255;
  });
  return { input, shape, values, labels: Uint32Array.from(test.labels.subarray(0, EXAMPLES)), classes: 10 };
}

export async function digits(): Promise<Recipe> {
  const data = await digitSet({ batch: BATCH, shape: [SIDE, SIDE, 1] });
  const net = nn.sequential(
    nn.conv2d(1, 8, 5, { strides: 2, padding: 'same' }),
    nn.relu(),
    nn.conv2d(8, 16, 3, { strides: 2, padding: 'same' }),
    nn.relu(),
    nn.flatten(),
    nn.linear(7 * 7 * 16, 32),
    nn.relu(),
    nn.linear(32, 10),
  );
  type Params = ReturnType<typeof net.init>;
  const loss = (params: Params, x: sn.Tensor, answers: sn.Tensor): sn.Tensor => sn.losses.softmaxCrossEntropy(net.apply(params, x), answers).mean();
  const run = training(net.init(sn.random.key(1)), loss, sn.optim.adam({ lr: 0.003 }), (step) => data.batch(step) as [sn.Tensor, sn.Tensor]);
  return {
    steps: STEPS,
    step: run.step,
    async file() {
      const { params } = run;
      // The input of the file has grey values between 0 and 1, as pictures have.
      const [zero, one] = [standardise(0), standardise(1)];
      return sn.tidy(() =>
        onnx.export(
          (image: sn.Tensor) => ({ scores: net.apply(params, image.reshape([1, SIDE, SIDE, 1]).mul(one - zero).add(zero)) }),
          [sn.zeros([1, 1, SIDE, SIDE])],
        ),
      );
    },
    dispose: run.dispose,
  };
}
