// Small models that the page trains on its own data, so that a visitor without a file has one. They train here in slices of
// time, and become files.

import * as sn from 'sinter';
import type { Making } from '../protocol.ts';

/** A model that is being trained. */
export interface Recipe {
  readonly steps: number;
  /** Does one step after `done` steps, and returns its loss. */
  step(done: number): Promise<number>;
  /** The current model, as a file. */
  file(): Promise<Uint8Array<ArrayBuffer>>;
  dispose(): void;
}

/** The weight of the newest loss in the running mean that is shown. */
const FRESH = 0.1;

export class Maker {
  private done = 0;
  private loss = NaN;

  constructor(private readonly recipe: Recipe) {}

  async make(ms: number): Promise<Making> {
    const end = performance.now() + ms;
    const { steps } = this.recipe;
    while (this.done < steps && performance.now() < end) {
      const loss = await this.recipe.step(this.done);
      this.loss = Number.isNaN(this.loss) ? loss : this.loss + FRESH * (loss - this.loss);
      this.done++;
    }
    return { step: this.done, steps, loss: this.loss, done: this.done >= steps };
  }

  file(): Promise<Uint8Array<ArrayBuffer>> {
    return this.recipe.file();
  }

  dispose(): void {
    this.recipe.dispose();
  }
}

/** The training of a loss on batches, in the form that a Recipe needs. */
export function training<P>(params: P, loss: (params: P, x: sn.Tensor, answers: sn.Tensor) => sn.Tensor, optimizer: sn.optim.Optimizer, batch: (step: number) => readonly [sn.Tensor, sn.Tensor]) {
  const step = sn.trainStep(loss as never, optimizer) as unknown as sn.TrainStep<P, [sn.Tensor, sn.Tensor]>;
  let state = step.init(params);
  return {
    async step(done: number): Promise<number> {
      const [x, answers] = batch(done);
      const made = step(state, x, answers);
      state = made.state;
      const value = (await made.loss.data())[0];
      sn.dispose([x, answers, made.loss]);
      return value;
    },
    get params(): P {
      return step.params(state);
    },
    dispose(): void {
      sn.dispose(state);
      step.dispose();
    },
  };
}
