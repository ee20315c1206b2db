// Trains the last blocks of a loaded ONNX model on examples of classes. The part before those blocks does not change: it is
// computed once for each example, and steps run only the end of the graph. Every fifth example of a class is held out.

import * as sn from 'sinter';
import * as onnx from 'sinter/onnx';
import type { Examples, TuneFacts, TuneProgress, TuneSettings } from '../protocol.ts';
import { generator, shuffle } from '../../trainer/random.ts';
import { blocksOf } from './blocks.ts';
import { headOf, withClasses } from './head.ts';
import { tensorOf, type OnnxModel } from './onnx-model.ts';
import { splitAt } from './split.ts';

/** One of this many examples of a class is held out. */
const HELD = 5;
/** The number of examples in one call of the frozen part, and of a test. */
const TOGETHER = 10;
const SEED = 1;

class TuneError extends Error {
  override readonly name = 'Examples';
}

const sizeOf = (list: readonly sn.Tensor[]): number => list.reduce((sum, { size }) => sum + size, 0);

/** The indices of the examples to learn from and of those to test with. */
function divided(labels: Uint32Array): { train: number[]; held: number[] } {
  const [train, held, seen] = [[] as number[], [] as number[], new Map<number, number>()];
  labels.forEach((label, i) => {
    const nth = seen.get(label) ?? 0;
    seen.set(label, nth + 1);
    (nth % HELD === 1 ? held : train).push(i);
  });
  return { train, held };
}

export class Tuning {
  readonly facts: TuneFacts;
  /** The file, with a last layer for these classes. */
  private readonly bytes: Uint8Array<ArrayBuffer>;
  private readonly end: onnx.Model;
  /** The inputs of the trained end, for all examples, stacked along the first axis. */
  private readonly features: Record<string, sn.Tensor>;
  private readonly step: sn.TrainStep<onnx.Params, [sn.Tensor, sn.Tensor]>;
  private readonly answers: sn.Jitted<[onnx.Params, sn.Tensor], sn.Tensor>;
  private state: sn.TrainState<onnx.Params, unknown>;
  private readonly train: number[];
  private readonly held: number[];
  private readonly labels: Uint32Array;
  private readonly before: number;
  private readonly batch: number;
  private steps = 0;
  /** The indices that are left of this pass over the examples. */
  private order: number[] = [];
  /** Whether the batch size of the file is free; otherwise examples run through vmap. */
  private readonly isFree: boolean;

  constructor(
    private readonly model: OnnxModel,
    settings: TuneSettings,
    examples: Examples,
  ) {
    const { file } = model;
    const given = new Set(Object.keys(model.model?.params ?? {}));
    const blocks = blocksOf(file, given).slice(-settings.blocks);
    const trained = new Set(blocks.flatMap(({ weights }) => weights));
    if (trained.size === 0) throw new TuneError('The model has no weights that could be trained.');
    const port = file.inputs.find(({ name }) => name === examples.input);
    if (port === undefined || file.inputs.length > 1) throw new TuneError('Models with one input can be trained here, and this one has another number.');
    this.isFree = typeof port.shape?.[0] === 'string';
    this.labels = examples.labels;
    ({ train: this.train, held: this.held } = divided(examples.labels));
    if (this.train.length < 2 || new Set(examples.labels).size < 2) throw new TuneError('Training needs examples of two classes at least.');
    if (this.held.length === 0) throw new TuneError('Each class needs two examples at least: one of them is held out, to test with.');
    this.batch = Math.min(settings.batch, this.train.length);
    const { cut, scores } = splitAt(file, trained);
    const head = headOf(file, scores);
    const isNew = head !== null && trained.has(head.weight) && head.outputs !== examples.classes;
    this.bytes = isNew ? withClasses(model.bytes, file, scores, head, examples.classes) : model.bytes;
    this.features = this.featuresOf(cut, examples, port.dtype);
    this.end = onnx.load(this.bytes, { inputs: cut, outputs: [scores] });
    const own = Object.fromEntries([...trained].filter((name) => Object.hasOwn(this.end.params, name)).map((name) => [name, this.end.params[name]]));
    const outputs = sn.tidy(() => this.scores(own, sn.tensor(Int32Array.of(0))).shape[1]);
    if (examples.classes > outputs) throw new TuneError(`The model has ${outputs} outputs, so it tells ${outputs} classes apart at most, and there are ${examples.classes}. Its last layer is no plain product, which could be replaced.`);
    const loss = (params: onnx.Params, rows: sn.Tensor, labels: sn.Tensor): sn.Tensor => sn.losses.softmaxCrossEntropy(this.scores(params, rows), labels).mean();
    this.step = sn.trainStep(loss as never, sn.optim.adam({ lr: settings.learningRate })) as unknown as Tuning['step'];
    this.answers = sn.jit((params: onnx.Params, rows: sn.Tensor) => this.scores(params, rows).argmax({ axis: 1 }));
    this.state = this.step.init(own);
    this.before = this.accuracy();
    const parameters = sizeOf(Object.values(own));
    const all = sizeOf(Object.values(model.model?.params ?? {}));
    this.facts = {
      parameters,
      frozen: all - parameters,
      train: this.train.length,
      held: this.held.length,
      note: isNew
        ? `The last layer is a new one: ${examples.classes} outputs in the place of ${head.outputs}.`
        : examples.classes < outputs
          ? `Of ${outputs} outputs the first ${examples.classes} become the classes; the others learn to stay low.`
          : '',
    };
  }

  /** The scores (n, outputs) of the examples with the given indices. */
  private scores(params: onnx.Params, rows: sn.Tensor): sn.Tensor {
    const inputs = Object.entries(this.features);
    const weights = { ...this.end.params, ...params };
    const names = inputs.map(([name]) => name);
    const apply = (...values: sn.Tensor[]): sn.Tensor =>
      Object.values(this.end.apply(weights, Object.fromEntries(names.map((name, i) => [name, values[i]]))))[0];
    const picked = inputs.map(([, all]) => all.take(rows));
    const made = this.isFree ? apply(...picked) : (sn.vmap(apply as never) as unknown as typeof apply)(...picked);
    return made.reshape([rows.shape[0], -1]);
  }

  /** The values at the cut for all examples. If the file's batch size is fixed, they get an additional first axis. */
  private featuresOf(cut: readonly string[], { input, shape, values, labels }: Examples, dtype: string): Record<string, sn.Tensor> {
    const each = shape.reduce((product, size) => product * size, 1);
    const isCut = cut.length !== 1 || cut[0] !== input;
    const beginning = isCut ? onnx.load(this.bytes, { outputs: cut }) : null;
    const parts = new Map<string, sn.Tensor[]>(cut.map((name) => [name, []]));
    const rank = this.model.file.inputs[0].shape?.length ?? shape.length;
    const together = this.isFree ? TOGETHER : 1;
    try {
      for (let from = 0; from < labels.length; from += together) {
        const count = Math.min(together, labels.length - from);
        const whole = rank > shape.length ? [count, ...shape] : shape;
        const x = tensorOf(dtype, whole, values.slice(from * each, (from + count) * each));
        const made = beginning === null ? { [input]: x } : sn.tidy(() => beginning.run({ [input]: x }));
        for (const name of cut) parts.get(name)?.push(made[name]);
        sn.eval(made);
        if (beginning !== null && !cut.includes(input)) x.dispose();
      }
    } finally {
      beginning?.dispose();
    }
    return Object.fromEntries(cut.map((name) => {
      const list = parts.get(name) ?? [];
      const all = this.isFree ? sn.concat(list, { axis: 0 }) : sn.stack(list);
      sn.eval(all);
      sn.dispose(list);
      return [name, all];
    }));
  }

  private rows(list: readonly number[]): sn.Tensor {
    return sn.tensor(Int32Array.from(list));
  }

  private accuracy(): number {
    let right = 0;
    for (let from = 0; from < this.held.length; from += TOGETHER) {
      const list = this.held.slice(from, from + TOGETHER);
      const found = sn.tidy(() => this.answers(this.step.params(this.state), this.rows(list)).dataSync());
      list.forEach((example, i) => (right += Number(found[i] === this.labels[example])));
    }
    return right / this.held.length;
  }

  private next(): number[] {
    const list: number[] = [];
    while (list.length < this.batch) {
      if (this.order.length === 0) {
        const order = Uint32Array.from(this.train);
        shuffle(order, generator(SEED, this.steps));
        this.order = [...order];
      }
      list.push(this.order.pop() as number);
    }
    return list;
  }

  async on(ms: number): Promise<TuneProgress> {
    const end = performance.now() + ms;
    const losses: number[] = [];
    do {
      const list = this.next();
      const [rows, labels] = [this.rows(list), this.rows(list.map((example) => this.labels[example]))];
      const { state, loss } = this.step(this.state, rows, labels);
      this.state = state;
      losses.push((await loss.data())[0]);
      sn.dispose([rows, labels, loss]);
      this.steps++;
    } while (performance.now() < end);
    return { step: this.steps, losses, before: this.before, accuracy: this.accuracy() };
  }

  /** The file with the current weights. */
  file(): Uint8Array<ArrayBuffer> {
    return this.end.save({ ...this.end.params, ...this.step.params(this.state) });
  }

  dispose(): void {
    sn.dispose(this.state);
    sn.dispose(this.features);
    this.step.dispose();
    this.answers.dispose();
    this.end.dispose();
  }
}
