// Fine-tuning: the last blocks of the model learn from the visitor's examples. Loss and accuracy are shown live. The file with
// the new weights can be downloaded.

import { Chart } from '../views/chart.ts';
import { download } from '../views/download.ts';
import { create, element, perFrame, setText, setValue } from '../views/dom.ts';
import { NONE, count, percent, plural, scaled, significant } from '../views/format.ts';
import { ExampleSet } from './examples.ts';
import type { Facts } from './protocol.ts';
import type { Runner } from './runner.ts';

/** How long the worker trains, in ms, before the page is updated. */
const SLICE_MS = 250;
/** The number of blocks that is chosen at first. */
const FIRST_BLOCKS = 2;
/** The weight of the newest loss in the running mean. */
const FRESH = 0.15;
const MARKS = [[0, 1, 2, 4], [0, 0.5, 1, 1.5, 2, 3, 4]];

const sizeText = (size: number): string => (size < 100_000 ? count(size) : scaled(size));

export interface TuneActions {
  quiet(): void;
  /** The loaded model has new weights, and its outputs stand for these classes. */
  renewed(classes: readonly string[]): void;
}

export class TuneCard {
  private name = '';
  private isRunning = false;
  private isPaused = false;
  /** Incremented when another model is opened and when a training starts. Answers about an earlier one are dropped. */
  private turn = 0;
  /** Incremented for each loop that follows the training. After a pause, a slice of the loop before may still be under way. */
  private loop = 0;
  private steps: number[] = [];
  private losses: number[] = [];
  private means: number[] = [];
  private names: string[] = [];
  private readonly set: ExampleSet;
  private readonly startButton = element<HTMLButtonElement>('finetune-start');
  private readonly pauseButton = element<HTMLButtonElement>('finetune-pause');
  private readonly downloadButton = element<HTMLButtonElement>('finetune-download');
  private readonly blockChoice = element<HTMLSelectElement>('finetune-blocks');
  private readonly chart = new Chart(element('finetune-chart'), {
    group: 'finetune',
    y: { range: (_, __, max) => [0, Math.max(1, (max ?? 1) * 1.1)] },
    marks: MARKS,
    mark: String,
    value: (value) => value.toFixed(3),
    lines: [
      { label: 'batch', colour: '--faint', width: 1, points: false },
      { label: 'mean', colour: '--loss', width: 2, points: false },
    ],
  });
  private readonly draw = perFrame(() => this.chart.show([this.steps, this.losses, this.means]));

  constructor(
    private readonly runner: Runner,
    private readonly actions: TuneActions,
  ) {
    this.set = new ExampleSet((text, isProblem = false) => this.say(text, isProblem), (...args) => this.runner.ask('digits', ...args));
    this.startButton.addEventListener('click', () => void this.start());
    this.pauseButton.addEventListener('click', () => this.pause());
    this.downloadButton.addEventListener('click', () => void this.take());
  }

  /** Shows another model. */
  open({ name, blocks, inputs }: Facts): void {
    this.turn++;
    this.isRunning = this.isPaused = false;
    this.name = name;
    let sum = 0;
    const options = [...blocks].reverse().map((block, i) => {
      sum += block.parameters;
      const option = create('option', '', `${plural(i + 1, 'block')}: from ${block.name} on, ${sizeText(sum)} weights`);
      option.value = String(i + 1);
      return option;
    });
    this.blockChoice.replaceChildren(...options);
    this.blockChoice.value = String(Math.min(FIRST_BLOCKS, blocks.length));
    this.set.show(inputs[0]);
    this.clear();
    this.buttons();
    this.say('');
  }

  rest(): void {
    this.set.rest();
    if (this.isRunning) this.pause();
  }

  private clear(): void {
    [this.steps, this.losses, this.means] = [[], [], []];
    for (const id of ['finetune-loss', 'finetune-before', 'finetune-after', 'finetune-steps']) setValue(element(id), NONE, null);
    this.draw();
  }

  private say(text: string, isProblem = false): void {
    const note = element('finetune-note');
    setText(note, text);
    note.classList.toggle('problem', isProblem);
  }

  private buttons(): void {
    this.startButton.disabled = this.isRunning;
    this.pauseButton.disabled = !this.isRunning && !this.isPaused;
    setText(this.pauseButton, this.isPaused ? 'Go on' : 'Pause');
    this.downloadButton.disabled = this.steps.length === 0;
  }

  private number(id: string, isRight: (value: number) => boolean): number | null {
    const field = element<HTMLInputElement>(id);
    const value = Number(field.value);
    const isValid = field.value.trim() !== '' && isRight(value);
    field.setAttribute('aria-invalid', String(!isValid));
    return isValid ? value : null;
  }

  private async start(): Promise<void> {
    const learningRate = this.number('finetune-rate', (value) => value > 0 && value <= 1);
    const batch = this.number('finetune-batch', (value) => Number.isInteger(value) && value >= 1 && value <= 256);
    if (learningRate === null || batch === null) return this.say('The learning rate is between 0 and 1, and a batch has 1 to 256 examples.', true);
    let { turn } = this;
    try {
      const { examples, names } = this.set.examples;
      turn = ++this.turn;
      this.names = names;
      this.actions.quiet();
      this.clear();
      this.isRunning = true;
      this.isPaused = false;
      this.buttons();
      this.say(`What lies before the trained blocks is computed of ${plural(examples.labels.length, 'example')}…`);
      const begin = performance.now();
      const facts = await this.runner.ask('tune', { blocks: Number(this.blockChoice.value), learningRate, batch }, examples);
      if (turn !== this.turn) return;
      element('finetune-note').dataset.ready = String(performance.now() - begin);
      this.say(`${sizeText(facts.parameters)} weights learn, ${sizeText(facts.frozen)} stay. ${facts.train} examples to learn from, ${facts.held} held out. ${facts.note}`);
      await this.follow(turn);
    } catch (error) {
      if (turn !== this.turn) return;
      this.isRunning = false;
      this.say(error instanceof Error ? error.message : String(error), true);
      this.buttons();
    }
  }

  private async follow(turn: number): Promise<void> {
    const loop = ++this.loop;
    while (this.isRunning && loop === this.loop) {
      const { step, losses, before, accuracy } = await this.runner.ask('tuneOn', SLICE_MS);
      if (turn !== this.turn) return;
      losses.forEach((loss, i) => {
        this.steps.push(step - losses.length + i + 1);
        this.losses.push(loss);
        const last = this.means.at(-1) ?? loss;
        this.means.push(last + FRESH * (loss - last));
      });
      const mean = this.means.at(-1) ?? NaN;
      setValue(element('finetune-loss'), significant(mean), mean);
      setValue(element('finetune-before'), percent(before), before);
      setValue(element('finetune-after'), percent(accuracy), accuracy);
      setValue(element('finetune-steps'), count(step), step);
      this.draw();
      this.buttons();
    }
  }

  private pause(): void {
    const { turn } = this;
    if (this.isRunning) {
      this.isRunning = false;
      this.isPaused = true;
      this.buttons();
      return;
    }
    this.isRunning = true;
    this.isPaused = false;
    this.buttons();
    this.follow(turn).catch((error: unknown) => {
      if (turn !== this.turn) return;
      this.isRunning = false;
      this.say(error instanceof Error ? error.message : String(error), true);
      this.buttons();
    });
  }

  private async take(): Promise<void> {
    const { turn } = this;
    if (this.isRunning) this.pause();
    try {
      const bytes = (await this.runner.ask('tuned')) as Uint8Array<ArrayBuffer>;
      this.actions.renewed(this.names);
      download(this.name.replace(/(\.onnx)?$/, '-tuned.onnx'), 'application/octet-stream', bytes);
      this.say(`The same file with the new weights. Its outputs are ${this.names.slice(0, 10).map((name, i) => `${i}: ${name}`).join(', ')}${this.names.length > 10 ? ' …' : ''}.`);
    } catch (error) {
      if (turn === this.turn) this.say(error instanceof Error ? error.message : String(error), true);
    }
  }
}
