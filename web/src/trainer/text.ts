// Programs that write text. Their text is a list of letter numbers, cut at any places into lines of the context's length. Test
// accuracy is the share of letters predicted right in the last part of the text, which is not trained on. Between slices of
// training the current network writes a text letter by letter.

import * as sn from 'sinter';
import type { Data } from 'playground';
import type { FromTrainer } from '../state/protocol.ts';
import type { Examiner } from './examiner.ts';
import { generator } from './random.ts';
import type { Predict } from '../program/workers/training.ts';
import type { Session } from './session.ts';

const TEST_SHARE = 0.1;
const EVERY_STEPS = 100;
/** The number of lines in one call of an examination. */
const PART = 16;
const EXCERPT_LETTERS = 500;
/** Below 1, likely letters become likelier. */
const TEMPERATURE = 0.8;

export interface Corpus {
  /** All letters that occur, sorted. */
  letters: string[];
  train: Int32Array;
  test: Int32Array;
}

export async function loadCorpus(url: string): Promise<Corpus> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the text: the server answered ${response.status} ${response.statusText}`);
  return corpusOf(await response.text());
}

export function corpusOf(text: string): Corpus {
  const letters = [...new Set(text)].sort();
  const number = new Map(letters.map((letter, i) => [letter, i]));
  const codes = Int32Array.from(text, (letter) => number.get(letter) ?? 0);
  const end = Math.floor(codes.length * (1 - TEST_SHARE));
  return { letters, train: codes.subarray(0, end), test: codes.subarray(end) };
}

/** The lines that start at the given places, and for each of their letters the one after it. */
function lines(codes: Int32Array, places: readonly number[], context: number): [sn.Tensor, sn.Tensor] {
  const cut = (shift: number): sn.Tensor => {
    const all = new Int32Array(places.length * context);
    places.forEach((place, i) => all.set(codes.subarray(place + shift, place + shift + context), i * context));
    return sn.tensor(all, { shape: [places.length, context] });
  };
  return [cut(0), cut(1)];
}

export interface TextData extends Data {
  readonly kind: 'text';
  readonly corpus: Corpus;
  readonly letters: readonly string[];
  readonly context: number;
}

export const isText = (data: Data): data is TextData => (data as Partial<TextData>).kind === 'text';

export function textData(corpus: Corpus, { batch, context, seed }: { batch: number; context: number; seed: number }): TextData {
  const { train, letters } = corpus;
  const room = train.length - context;
  return {
    kind: 'text',
    corpus,
    letters,
    context,
    stepsPerEpoch: Math.floor(train.length / (batch * context)),
    batch: (step) => {
      const random = generator(seed, step);
      return lines(train, Array.from({ length: batch }, () => random() % room), context);
    },
  };
}

export class TextExaminer implements Examiner {
  private readonly examine: sn.EvalStep<unknown, [sn.Tensor, sn.Tensor], unknown, sn.Tensor[]>;
  private readonly chances: sn.EvalStep<unknown, [sn.Tensor, sn.Tensor], unknown, sn.Tensor>;
  private readonly corpus: Corpus;
  private readonly random: () => number;
  private examinedAt = 0;
  private nextAt = 0;
  /** The numbers of the letters of the excerpt that is being written. */
  private written: number[] = [];

  constructor(
    private readonly session: Session,
    predict: Predict,
    private readonly data: TextData,
    private readonly post: (message: FromTrainer) => void,
  ) {
    this.corpus = data.corpus;
    this.random = generator(session.seed);
    this.examine = sn.evalStep((params: unknown, x: sn.Tensor, answers: sn.Tensor, { state }: sn.StepContext) => {
      const scores = predict(params, x, { state });
      return [sn.losses.softmaxCrossEntropy(scores, answers), sn.metrics.accuracy(scores, answers)];
    });
    this.chances = sn.evalStep((params: unknown, x: sn.Tensor, place: sn.Tensor, { state }: sn.StepContext) => {
      const scores = predict(params, x, { state });
      return sn.softmax(sn.take(scores, place, { axis: 1 }).div(TEMPERATURE));
    });
  }

  rehearse(): void {
    this.measure();
    this.append();
    this.written = [];
  }

  get due(): boolean {
    const { steps } = this.session;
    return steps !== this.examinedAt && steps % EVERY_STEPS === 0;
  }

  advance(): void {
    this.quick();
  }

  quick(): void {
    const { steps: step } = this.session;
    this.examinedAt = step;
    const { loss, accuracy, count } = this.measure();
    this.post({ type: 'evaluation', evaluation: { step, accuracy, count, whole: false, sample: null, loss } });
  }

  get wantsToShow(): boolean {
    return this.written.length > 0 || this.session.steps >= this.nextAt;
  }

  show(forMs: number): void {
    const { steps: step } = this.session;
    const begin = performance.now();
    do this.append();
    while (this.written.length < EXCERPT_LETTERS && performance.now() - begin < forMs);
    const text = this.written.map((code) => this.corpus.letters[code]).join('');
    const done = this.written.length >= EXCERPT_LETTERS;
    this.post({ type: 'writing', text, step, done });
    if (!done) return;
    this.written = [];
    this.nextAt = step + EVERY_STEPS;
  }

  classify(): null {
    return null;
  }

  dispose(): void {
    this.examine.dispose();
    this.chances.dispose();
  }

  /** Measures all full lines of the test text, in parts of equal size. */
  private measure(): { loss: number; accuracy: number; count: number } {
    const { context } = this.data;
    const { test } = this.corpus;
    const parts = Math.floor((test.length - 1) / (context * PART));
    let [loss, accuracy] = [0, 0];
    for (let part = 0; part < parts; part++) {
      const places = Array.from({ length: PART }, (_, i) => (part * PART + i) * context);
      sn.tidy(() => {
        const found = this.examine(this.session.state, ...lines(test, places, context));
        loss += found[0].item() / parts;
        accuracy += found[1].item() / parts;
      });
    }
    return { loss, accuracy, count: parts * PART * context };
  }

  /** Appends one letter, drawn from the network's probabilities. An excerpt begins like a new line. */
  private append(): void {
    const { context } = this.data;
    const { letters } = this.corpus;
    const seen = [letters.indexOf('\n'), ...this.written].slice(-context);
    const chances = sn.tidy(() => {
      const x = Int32Array.from({ length: context }, (_, i) => seen[i] ?? 0);
      const place = Int32Array.of(seen.length - 1);
      return this.chances(
        this.session.state,
        sn.tensor(x, { shape: [1, context] }),
        sn.tensor(place),
      ).dataSync() as Float32Array;
    });
    let left = this.random() / 2 ** 32;
    const drawn = chances.findIndex((chance) => (left -= chance) < 0);
    this.written.push(drawn < 0 ? letters.length - 1 : drawn);
  }
}
