// One network being trained: its program, its weights, its place in the data. Its task says what it is and what
// it learns from. Every method is synchronous and leaves no tensor behind but the optimiser's state.

import * as sn from 'sinter';

export type Params = unknown;

/** What differs between the examples. All have a loss per answer, and Adam. */
export interface Task {
  readonly module: sn.nn.Module;
  readonly stepsPerEpoch: number;
  /** The next batch: input and the right answers, int32. */
  next(): [x: sn.Tensor, answers: sn.Tensor];
}

/** Mean of -log of the probability of the right answers. */
export function meanLoss(scores: sn.Tensor, answers: sn.TensorLike): sn.Tensor {
  return sn.mean(sn.softmaxCrossEntropy(scores, answers));
}

type Step = sn.TrainStep<Params, [sn.Tensor, sn.Tensor]>;

export class Session {
  /** How many numbers are learnt. */
  readonly weights: number;
  readonly stepsPerEpoch: number;
  steps = 0;

  private readonly optimizer: ReturnType<typeof sn.optim.adam>;
  private readonly train: Step;
  private state: sn.TrainState<Params>;

  constructor(
    private readonly task: Task,
    { learningRate, seed }: { learningRate: number; seed: number },
  ) {
    this.stepsPerEpoch = task.stepsPerEpoch;
    this.optimizer = sn.optim.adam({ lr: learningRate });
    this.train = sn.trainStep(
      (params: Params, x: sn.Tensor, answers: sn.Tensor) => meanLoss(task.module.apply(params, x), answers),
      this.optimizer,
    );
    this.state = sn.tidy(() => this.train.init(task.module.init(sn.random.key(seed))));
    this.weights = sn.tree.leaves(this.params).reduce((sum: number, leaf) => sum + (leaf as sn.Tensor).size, 0);
  }

  /** Valid until the next step. */
  get params(): Params {
    return this.train.params(this.state);
  }

  /** Trains on the next batch and returns its loss from before the update. */
  step(): number {
    let value = NaN;
    this.state = sn.tidy(() => {
      const { state, loss } = this.train(this.state, ...this.task.next());
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

  dispose(): void {
    sn.dispose(this.state);
    this.train.dispose();
  }
}
