// The cases as programs of the library, with or without fusion.

import * as sn from 'sinter';
import { ATTENTION, CASES, CNN, CONV, LINEAR } from '../cases.ts';

export interface Program {
  call(): void;
  dispose(): void;
}

let seed = 0;

/** Uniform numbers in [-1, 1). */
function floats(...shape: number[]): sn.Tensor {
  return sn.tidy(() => {
    const drawn = sn.random.uniform(sn.random.key(++seed), shape, { minval: -1, maxval: 1 });
    sn.eval(drawn);
    return drawn;
  });
}

function compiled(f: (...inputs: sn.Tensor[]) => sn.Tensor, inputs: sn.Tensor[], fusion: boolean): Program {
  const run = sn.jit(f, { fusion });
  return {
    call: () => run(...inputs).dispose(),
    dispose: () => {
      run.dispose();
      sn.dispose(inputs);
    },
  };
}

function cnn(fusion: boolean): Program {
  const { conv2d, flatten, linear, maxPool2d, relu, sequential } = sn.nn;
  const { batch, side, channels, filter, classes } = CNN;
  const [first, second] = channels;
  const module = sequential(
    conv2d(1, first, filter, { padding: 'same' }),
    relu(),
    maxPool2d(2),
    conv2d(first, second, filter, { padding: 'same' }),
    relu(),
    maxPool2d(2),
    flatten(),
    linear((side / 4) ** 2 * second, classes),
  );
  type Params = ReturnType<typeof module.init>;
  const loss = (params: Params, x: sn.Tensor, y: sn.Tensor): sn.Tensor =>
    sn.mean(sn.softmaxCrossEntropy(module.apply(params, x), y));
  // A learning rate of 0, because the gradients of a network that has memorised its batch are 0.
  const step = sn.trainStep(loss, sn.optim.sgd({ lr: 0 }));
  let state = sn.tidy(() => step.init(module.init(sn.random.key(0))));
  const x = floats(batch, side, side, 1);
  const y = sn.tensor(Int32Array.from({ length: batch }, (_, i) => i % classes));
  const call = (): void => {
    const next = step(state, x, y);
    state = next.state;
    next.loss.dispose();
  };
  // trainStep compiles at its first call, with the passes that are enabled then.
  sn.setPass('fuse', fusion);
  call();
  sn.setPass('fuse', true);
  return {
    call,
    dispose: () => {
      step.dispose();
      sn.dispose([state, x, y]);
    },
  };
}

const PROGRAMS: Record<string, (fusion: boolean) => Program> = {
  'linear-gelu': (fusion) => {
    const { m, k, n } = LINEAR;
    return compiled((x, w, b) => sn.gelu(x.matmul(w).add(b)), [floats(m, k), floats(k, n), floats(n)], fusion);
  },
  conv: (fusion) => {
    const { side, channels, filter } = CONV;
    return compiled(
      (x, w, b) => sn.relu(sn.conv2d(x, w, { padding: 'same' }).add(b)),
      [floats(1, side, side, channels), floats(filter, filter, channels, channels), floats(channels)],
      fusion,
    );
  },
  attention: (fusion) => {
    const { heads, tokens, size } = ATTENTION;
    return compiled((q, k, v) => sn.attention(q, k, v), [0, 1, 2].map(() => floats(1, heads, tokens, size)), fusion);
  },
  cnn,
};

export function program(id: string, fusion: boolean): Program {
  const [kind, ...sizes] = id.split('-');
  if (kind !== 'matmul') return PROGRAMS[id](fusion);
  const [m, k, n] = sizes.map(Number);
  return compiled((a, b) => a.matmul(b), [floats(m, k), floats(k, n)], fusion);
}

export function fuses(id: string): boolean {
  return CASES.some((each) => each.id === id && each.fuses);
}
