// The words that the page uses for the kinds of data of a program.

import type { About } from './protocol.ts';

export interface Words {
  /** An element of a batch. */
  unit: string;
  /** What an epoch consists of. */
  epoch: string;
  /** What accuracy counts. */
  answers: string;
  /** What the line of the accuracy chart is measured on. */
  sample: string;
  /** The chart of accuracy reaches at least up to this value. */
  chartTop: number;
  /** The chart of the loss reaches at least down to this value. */
  chartLoss: number;
  ready: string;
}

export const WORDS: Record<About['data'], Words> = {
  digits: {
    unit: 'image',
    epoch: '60,000 images each',
    answers: 'digits',
    sample: '1,000 digits',
    chartTop: 0.996,
    chartLoss: 1,
    ready: 'Ready: 60,000 images to learn from, 10,000 to be tested on.',
  },
  text: {
    unit: 'line',
    epoch: "Shakespeare's sonnets",
    answers: 'letters',
    sample: 'letters guessed right',
    chartTop: 0.6,
    chartLoss: 2,
    ready: "Ready: Shakespeare's sonnets to learn from, the last of them to be tested on.",
  },
  own: {
    unit: 'row',
    epoch: 'of its own data',
    answers: 'answers',
    sample: 'as the program counts it',
    chartTop: 0.996,
    chartLoss: Infinity,
    ready: 'Ready to start.',
  },
};
