// What is done with each network: the step that trains it, and what is asked of it between steps.

import * as sn from 'sinter';

export type State = sn.TrainState<unknown>;
export type Step = sn.TrainStep<unknown, [x: sn.Tensor, answers: sn.Tensor]>;

/** The scores of an input, and the next state of a network that has one. */
export function apply(
  net: sn.nn.AnyModule,
  params: unknown,
  x: sn.Tensor,
  options: sn.nn.ApplyOptions,
): [scores: sn.Tensor, next: unknown] {
  return net.hasState === true ? net.apply(params, x, options) : [net.apply(params, x, options), options.state];
}

/** The optimizer, which also remembers the last rate and the length of the last gradient. */
function watched(optimizer: sn.optim.Optimizer): sn.optim.Optimizer {
  return {
    get lr() {
      return optimizer.lr;
    },
    set lr(value) {
      optimizer.lr = value;
    },
    init: (params) => ({ ...optimizer.init(params), rate: sn.zeros([]), norm: sn.zeros([]) }),
    update: (grads, { rate: _, norm: __, ...state }, params, lr) => {
      const squares = sn.tree.leaves(grads).map((g) => (g as sn.Tensor).square().sum());
      const norm = squares.reduce((sum, x) => sum.add(x)).sqrt();
      const rate = typeof optimizer.lr === 'function' ? optimizer.lr(state.count) : (lr as sn.Tensor);
      const next = optimizer.update(grads, state, params, lr);
      return { ...next, state: { ...next.state, rate, norm } };
    },
  };
}

/** Forward, backward and update as one compiled program. */
export function training(net: sn.nn.AnyModule, optimizer: sn.optim.Optimizer, options?: sn.StepOptions): Step {
  const loss = (params: unknown, x: sn.Tensor, answers: sn.Tensor, { state, key }: sn.StepContext) => {
    const [scores, next] = apply(net, params, x, { state, key, train: true });
    return [sn.losses.softmaxCrossEntropy(scores, answers), { state: next }] as const;
  };
  return sn.trainStep(loss, watched(optimizer), options);
}

/** The first state: fresh parameters, running statistics, and a key for whatever is drawn in training. */
export function begin(net: sn.nn.AnyModule, step: Step, seed: number): State {
  return sn.tidy(() => {
    const key = sn.random.key(seed);
    if (net.hasState !== true) return step.init(net.init(key), { key });
    const { params, state } = net.init(key);
    return step.init(params, { state, key });
  });
}

/** The scores of an input, by running statistics and without dropout. */
export const asking = (net: sn.nn.AnyModule) =>
  sn.evalStep((params: unknown, x: sn.Tensor, { state }: sn.StepContext) => apply(net, params, x, { state })[0]);
