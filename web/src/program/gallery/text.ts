// Writes text letter by letter.

import * as sn from 'sinter';
import { sonnets, type Lesson, type Program } from 'playground';

const { losses, nn, optim, random } = sn;
const HEADS = 4;

export const settings = { sizes: [2, 64, 64], batch: 16, learningRate: 0.003, seed: 0 };
export const labels = { sizes: 'Blocks, width, context' };

/** Adds a learnt vector for each place of the context. */
function places(context: number, width: number): sn.nn.Module<sn.Tensor> {
  const most = 1 / Math.sqrt(width);
  return {
    init: (key) => random.uniform(key, [context, width], { minval: -most, maxval: most }),
    apply: (table, x) => sn.add(x, table),
  };
}

export default async ({ sizes, batch, learningRate, seed }: typeof settings): Promise<Program> => {
  const [blocks = 0, width = 0, context = 0] = sizes;
  const fits = (size: number, least: number, most: number) => size >= least && size <= most;
  if (sizes.length !== 3 || !fits(blocks, 1, 6) || !fits(width, 8, 256) || width % HEADS !== 0 || !fits(context, 8, 256))
    throw new RangeError(`Blocks, width, context: 1 to 6, 8 to 256 by ${HEADS}, 8 to 256`);

  // Letters, int32 (n, context) -> scores of the letter after each (n, context, letters).
  const data = await sonnets({ batch, context, seed });
  const letters = data.letters.length;
  const model = nn.sequential(
    nn.embedding(letters, width),
    places(context, width),
    ...Array.from({ length: blocks }, () => nn.transformerBlock(width, HEADS)),
    nn.layerNorm(width),
    nn.linear(width, letters),
  );

  return {
    about: `A transformer of ${blocks} blocks with ${HEADS} heads, ${width} wide, that sees ${context} of ${letters} letters`,
    model,
    loss: (params, x, answers) => losses.softmaxCrossEntropy(model.apply(params, x), answers),
    data,
    // Up from a hundredth in 100 steps, down along half a wave to a tenth until step 3,000, and that from then on.
    optimizer: optim.adamw({
      lr: optim.schedules.warmupCosine({
        from: learningRate / 100,
        lr: learningRate,
        to: learningRate / 10,
        warmup: 100,
        steps: 3000,
      }),
    }),
  };
};

export const lesson: Lesson = [
  {
    text: 'For each letter of a line, a transformer says how likely each letter is to come next. It begins with no idea: each of them is as likely as any other.',
    see: 'Press Start: the loss falls below 2.7, which is to know how often each letter occurs, and a little more.',
    check: ({ loss }) => loss < 2.7,
  },
  {
    text: 'Drawn with these chances letter by letter, a text comes out. Words come before sense.',
    see: 'A third of the letters of sonnets that it has never seen are guessed right.',
    check: ({ accuracy = 0 }) => accuracy > 0.33,
  },
];
