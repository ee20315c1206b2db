// Compares a program's answers with the right ones. The data are batches of rows (x, classes), with classes as whole numbers or
// as 0 and 1. The model gives a score for each class, or one score that is above 0 for class 1.

import * as sn from 'sinter';
import { isDigits } from '../digits.ts';
import { isText } from '../text.ts';
import type { Session } from '../session.ts';
import type { ConfusionReport, Example } from '../../state/inside.ts';

const MOST_ROWS = 512;
const MOST_CLASSES = 100;
/** A row that is no picture is shown by this many of its numbers. */
const MOST_NUMBERS = 8;
const DIGIT_SIDE = 28;

type Run = sn.EvalStep<unknown, [sn.Tensor], unknown, sn.Tensor>;

const numbers = (t: sn.Tensor): Float32Array => Float32Array.from(sn.astype(t, 'float32').dataSync() as Float32Array);

/** The classes of rows as whole numbers; null if the values are not classes. */
function classesOf(y: sn.Tensor): Int32Array | null {
  const values = numbers(y);
  return values.every((each) => Number.isInteger(each) && each >= 0 && each < MOST_CLASSES) ? Int32Array.from(values) : null;
}

function answersOf(scores: Float32Array, classes: number): Int32Array {
  if (classes === 1) return Int32Array.from(scores, (score) => Number(score > 0));
  return Int32Array.from({ length: scores.length / classes }, (_, i) => {
    const own = scores.subarray(i * classes, (i + 1) * classes);
    return own.reduce((best, score, c) => (score > own[best] ? c : best), 0);
  });
}

/** How a row of numbers is shown: as an image in grey or colour. null if it has no such shape. */
function pictures(x: sn.Tensor): ((row: Float32Array) => Example) | null {
  const [height, width, colours = 1] = x.ndim === 2 && x.shape[1] === DIGIT_SIDE ** 2 ? [DIGIT_SIDE, DIGIT_SIDE] : x.shape.slice(1);
  const isImage = x.ndim >= 2 && height > 3 && width > 3 && (colours === 1 || colours === 3);
  return isImage ? (pixels) => ({ pixels, height, width, colours }) : null;
}

const written = (row: Float32Array): Example => {
  const more = row.length > MOST_NUMBERS ? ' …' : '';
  return { text: Array.from(row.subarray(0, MOST_NUMBERS), (value) => value.toPrecision(3)).join(', ') + more };
};

export class Confusion {
  private readonly run: Run | null;

  constructor(private readonly session: Session) {
    const { predict } = session.training;
    this.run = predict && sn.evalStep((params: unknown, x: sn.Tensor, { state }: sn.StepContext) => predict(params, x, { state }));
  }

  /** null if this program does not answer with classes. */
  look(): ConfusionReport | null {
    return this.run === null ? null : sn.tidy(() => this.ask(this.run as Run));
  }

  dispose(): void {
    this.run?.dispose();
  }

  private ask(run: Run): ConfusionReport | null {
    const { training, steps, state } = this.session;
    const batch = training.data.batch(steps);
    const [x, y] = batch;
    if (batch.length !== 2 || x.ndim === 0 || y.ndim === 0) return null;
    const made = run(state, x);
    const isBinary = made.size === y.size && made.shape.at(-1) === 1;
    const classes = isBinary ? 1 : (made.shape.at(-1) ?? 0);
    const isScores = isBinary || (made.ndim === y.ndim + 1 && made.size === y.size * classes && classes > 1 && classes <= MOST_CLASSES);
    const truth = isScores ? classesOf(y) : null;
    if (truth === null || truth.some((each) => each >= Math.max(2, classes))) return null;
    const rows = Math.min(MOST_ROWS, truth.length);
    const { data } = training;
    const letters = isText(data) ? data.letters : null;
    return {
      step: steps,
      of: isDigits(data) || letters === null ? 'of the batch of the next step' : 'letters of the batch of the next step',
      names: Array.from({ length: Math.max(2, classes) }, (_, i) => letters?.[i] ?? String(i)),
      truth: truth.subarray(0, rows),
      answers: answersOf(numbers(made), classes).subarray(0, rows),
      examples: letters === null ? this.rowsOf(x, rows) : lettersBefore(numbers(x), rows, x.shape.at(-1) ?? 1, letters),
    };
  }

  private rowsOf(x: sn.Tensor, rows: number): Example[] {
    const size = x.size / x.shape[0];
    const all = numbers(x);
    const show = pictures(x) ?? written;
    return Array.from({ length: rows }, (_, i) => show(all.slice(i * size, (i + 1) * size)));
  }
}

/** For each letter that is predicted, the line up to it. */
function lettersBefore(codes: Float32Array, rows: number, context: number, letters: readonly string[]): Example[] {
  return Array.from({ length: rows }, (_, i) => {
    const line = i - (i % context);
    return { text: `…${Array.from(codes.slice(Math.max(line, i - 15), i + 1), (code) => letters[code]).join('')}` };
  });
}
