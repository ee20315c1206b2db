// One network being trained: its program, its weights, its place in the data.
// Every method is synchronous and leaves no tensor behind but the optimiser's state.
// Programs are kept until dispose: one for the step, one per size of batch that was predicted.

import * as sn from 'sinter';
import type { Settings } from '../state/settings.ts';
import { Batches, gather, standardise } from './batches.ts';
import { PIXELS, type Digits, type Mnist } from './mnist.ts';

export const CLASSES = 10;

type Network = ReturnType<typeof buildNetwork>;
type Params = ReturnType<Network['init']>;
type Optimizer = ReturnType<typeof sn.optim.adam>;
type Step = ReturnType<typeof buildStep>;
type State = ReturnType<Step['init']>;

function buildNetwork(hidden: number[]) {
  const layers = [];
  let width = PIXELS;
  for (const size of hidden) {
    layers.push(sn.nn.linear(width, size), sn.nn.relu());
    width = size;
  }
  return sn.nn.sequential(...layers, sn.nn.linear(width, CLASSES));
}

function buildStep(network: Network, optimizer: Optimizer) {
  return sn.trainStep(
    (params: Params, images: sn.Tensor, labels: sn.Tensor) =>
      sn.mean(sn.softmaxCrossEntropy(network.apply(params, images), labels)),
    optimizer,
  );
}

/** Multiply-adds of the layers, as operations: forward, both gradients, none for the pixels. */
function matmulFlops(hidden: number[], batch: number): number {
  const sizes = [PIXELS, ...hidden, CLASSES];
  let flops = 0;
  for (let i = 0; i + 1 < sizes.length; i++)
    flops += (i === 0 ? 4 : 6) * batch * sizes[i] * sizes[i + 1];
  return flops;
}

export class Session {
  readonly flopsPerStep: number;
  readonly stepsPerEpoch: number;
  steps = 0;

  private readonly network: Network;
  private readonly logits: sn.Jitted<[Params, sn.Tensor], sn.Tensor>;
  private readonly batches: Batches;
  private readonly optimizer: Optimizer;
  private readonly train: Step;
  private state: State;

  constructor(data: Mnist, settings: Settings) {
    this.network = buildNetwork(settings.hidden);
    this.logits = sn.jit((params: Params, images: sn.Tensor) => this.network.apply(params, images));
    this.batches = new Batches(data.train, settings.batch, settings.seed);
    this.stepsPerEpoch = this.batches.stepsPerEpoch;
    this.flopsPerStep = matmulFlops(settings.hidden, settings.batch);
    this.optimizer = sn.optim.adam({ lr: settings.learningRate });
    this.train = buildStep(this.network, this.optimizer);
    this.state = sn.tidy(() => this.train.init(this.network.init(sn.random.key(settings.seed))));
  }

  /** Trains on the next batch and returns its loss from before the update. */
  step(): number {
    this.batches.next();
    const { size, images, labels } = this.batches;
    let value = NaN;
    this.state = sn.tidy(() => {
      const x = sn.tensor(images, { shape: [size, PIXELS] });
      const y = sn.tensor(labels, { shape: [size], dtype: 'int32' });
      const { state, loss } = this.train(this.state, x, y);
      value = loss.item();
      return state;
    });
    this.steps++;
    return value;
  }

  /** From the next step on; weights, moments and the compiled program stay. */
  setLearningRate(value: number): void {
    this.optimizer.lr = value;
  }

  /** The predicted digit of each given image. */
  predict(from: Digits, index: ArrayLike<number>): Uint8Array {
    const pixels = new Float32Array(index.length * PIXELS);
    gather(from, index, pixels);
    const scores = this.scores(pixels);
    return Uint8Array.from({ length: index.length }, (_, row) => {
      const first = row * CLASSES;
      let best = 0;
      for (let c = 1; c < CLASSES; c++) if (scores[first + c] > scores[first + best]) best = c;
      return best;
    });
  }

  /** Class probabilities of one image with values in [0, 1]. */
  probabilities(pixels: Float32Array): Float32Array {
    const scores = this.scores(pixels.map(standardise));
    const top = Math.max(...scores);
    const weights = Float32Array.from(scores, (score) => Math.exp(score - top));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  dispose(): void {
    sn.dispose(this.state);
    this.train.dispose();
    this.logits.dispose();
  }

  private scores(pixels: Float32Array): Float32Array {
    return sn.tidy(() => {
      const images = sn.tensor(pixels, { shape: [pixels.length / PIXELS, PIXELS] });
      return this.logits(this.train.params(this.state), images).dataSync() as Float32Array;
    });
  }
}
