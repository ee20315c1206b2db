// RNN, GRU and LSTM: one scan over time per direction. What the input contributes to the gates is one product before the scan.

import * as sn from '../../index.js';
import { UnsupportedError, type Tensor } from '../../index.js';
import type { Node, Op } from '../plan.js';
import type { Value } from '../value.js';

type Activation = (x: Tensor) => Tensor;

/** An activation by name. alpha and beta return its next parameter, or the default they are given. */
function activation(n: Node, name: string, alpha: (otherwise: number) => number, beta: (otherwise: number) => number): Activation {
  switch (name.toLowerCase()) {
    case 'sigmoid':
      return sn.sigmoid;
    case 'tanh':
      return sn.tanh;
    case 'relu':
      return (x) => sn.maximum(x, 0);
    case 'affine': {
      const [a, b] = [alpha(1), beta(0)];
      return (x) => sn.add(sn.mul(x, a), b);
    }
    case 'leakyrelu': {
      const a = alpha(0.01);
      return (x) => sn.where(sn.less(x, 0), sn.mul(x, a), x);
    }
    case 'thresholdedrelu': {
      const a = alpha(1);
      return (x) => sn.where(sn.greaterEqual(x, a), x, 0);
    }
    case 'scaledtanh': {
      const [a, b] = [alpha(1), beta(1)];
      return (x) => sn.mul(sn.tanh(sn.mul(x, b)), a);
    }
    case 'hardsigmoid': {
      const [a, b] = [alpha(0.2), beta(0.5)];
      return (x) => sn.clip(sn.add(sn.mul(x, a), b), 0, 1);
    }
    case 'softsign':
      return (x) => sn.div(x, sn.add(sn.abs(x), 1));
    case 'softplus':
      return sn.softplus;
    case 'elu': {
      const a = alpha(1);
      return (x) => sn.where(sn.greater(x, 0), x, sn.mul(sn.expm1(sn.minimum(x, 0)), a));
    }
    default:
      throw new UnsupportedError('onnx', `${n.where}: activation ${name}`);
  }
}

/** The activations of each direction. Their parameters are one list, used in order through all directions. */
function activationsOf(n: Node, names: readonly string[], directions: number): Activation[][] {
  const given = n.texts('activations');
  const chosen = given?.length ? given : Array.from({ length: directions }, () => names).flat();
  const inTurn = (list: readonly number[] = []): ((otherwise: number) => number) => {
    let next = 0;
    return (otherwise) => list[next++] ?? otherwise;
  };
  const [alpha, beta] = [inTurn(n.floats('activation_alpha')), inTurn(n.floats('activation_beta'))];
  const all = chosen.map((name) => activation(n, name, alpha, beta));
  return Array.from({ length: directions }, (_, d) => all.slice(d * names.length, (d + 1) * names.length));
}

/** The weights and activations of one direction. */
interface Cell {
  size: number;
  recurrent: Tensor;
  /** The bias of the recurrent part; null: none. */
  bias: Tensor | null;
  peepholes: Tensor | null;
  f: Activation[];
  clip: Activation;
}

/** One time step: returns the new states, the first of which is the output. x: what the input contributes to the gates. */
type Round = (n: Node, cell: Cell, x: Tensor, states: readonly Tensor[]) => Tensor[];

const gate = (t: Tensor, size: number, k: number): Tensor => sn.slice(t, [...t.shape.slice(1).map(() => 0), k * size], [...t.shape.slice(0, -1), size]);

/** h R^T + b for all gates: what the state contributes. */
function fromState({ recurrent, bias }: Cell, h: Tensor): Tensor {
  const product = sn.matmul(h, sn.transpose(recurrent));
  return bias ? sn.add(product, bias) : product;
}

const rnn: Round = (_, cell, x, [h]) => [cell.f[0]!(cell.clip(sn.add(x, fromState(cell, h!))))];

const gru: Round = (n, cell, x, [h]) => {
  const { size, f, clip } = cell;
  const all = fromState(cell, h!);
  const [z, r] = [0, 1].map((k) => f[0]!(clip(sn.add(gate(x, size, k), gate(all, size, k))))) as [Tensor, Tensor];
  let inner: Tensor;
  if (n.flag('linear_before_reset')) inner = sn.mul(r, gate(all, size, 2));
  else {
    const rows = sn.slice(cell.recurrent, [2 * size, 0], [size, size]);
    inner = sn.matmul(sn.mul(r, h!), sn.transpose(rows));
    if (cell.bias) inner = sn.add(inner, gate(cell.bias, size, 2));
  }
  const next = f[1]!(clip(sn.add(gate(x, size, 2), inner)));
  return [sn.add(sn.mul(sn.sub(1, z), next), sn.mul(z, h!))];
};

const lstm: Round = (n, cell, x, [h, c]) => {
  const { size, f, clip, peepholes } = cell;
  const all = sn.add(x, fromState(cell, h!));
  const see = (t: Tensor, k: number, state: Tensor): Tensor => (peepholes ? sn.add(t, sn.mul(gate(peepholes, size, k), state)) : t);
  const input = f[0]!(clip(see(gate(all, size, 0), 0, c!)));
  const forget = n.flag('input_forget') ? sn.sub(1, input) : f[0]!(clip(see(gate(all, size, 2), 2, c!)));
  const cellState = sn.add(sn.mul(forget, c!), sn.mul(input, f[1]!(clip(gate(all, size, 3)))));
  const output = f[0]!(clip(see(gate(all, size, 1), 1, cellState)));
  return [sn.mul(output, f[2]!(cellState)), cellState];
};

const KINDS = {
  RNN: { round: rnn, gates: 1, states: 1, names: ['Tanh'] },
  GRU: { round: gru, gates: 3, states: 1, names: ['Sigmoid', 'Tanh'] },
  LSTM: { round: lstm, gates: 4, states: 2, names: ['Sigmoid', 'Tanh', 'Tanh'] },
} as const;

/** The part of x for direction i, without that axis. */
const ofDirection = (x: Value, i: number): Tensor => sn.squeeze(sn.slice(x.t, [i, ...x.shape.slice(1).map(() => 0)], [1, ...x.shape.slice(1)]), 0);

const recurrent = (kind: keyof typeof KINDS): Op => ({
  since: 1,
  run: (n, x, w, r, b, lengths, ...more) => {
    const { round, gates, states, names } = KINDS[kind];
    const isBatchFirst = n.flag('layout');
    const xs = isBatchFirst ? sn.swapaxes(x!.t, 0, 1) : x!.t;
    const [times, batch] = xs.shape as [number, number];
    const size = r!.shape[2]!;
    const way = n.text('direction', 'forward');
    const directions = w!.shape[0]!;
    const peepholes = more[2];
    const limit = n.float('clip');
    const clip: Activation = limit > 0 ? (t) => sn.clip(t, -limit, limit) : (t) => t;
    const length = lengths ? sn.reshape(lengths.t, [-1, 1]) : null;
    const activations = activationsOf(n, names, directions);
    const all = Array.from({ length: directions }, (_, d) => {
      const bias = b ? ofDirection(b, d) : null;
      const part = (k: number): Tensor | null => bias && sn.slice(bias, [k * gates * size], [gates * size]);
      const cell: Cell = { size, recurrent: ofDirection(r!, d), bias: part(1), peepholes: peepholes ? ofDirection(peepholes, d) : null, f: activations[d]!, clip };
      const product = sn.matmul(xs, sn.transpose(ofDirection(w!, d)));
      const given = part(0) ? sn.add(product, part(0)!) : product;
      const first = Array.from({ length: states }, (_, k) => {
        const state = more[k];
        if (!state) return sn.zeros([batch, size], { dtype: xs.dtype });
        return isBatchFirst ? sn.squeeze(sn.slice(state.t, [0, d, 0], [batch, 1, size]), 1) : ofDirection(state, d);
      });
      const reverse = way === 'reverse' || d === 1;
      return sn.scan(
        (carry: Tensor[], [gatesOfX, time]: [Tensor, Tensor]): [Tensor[], Tensor] => {
          const next = round(n, cell, gatesOfX, carry);
          if (!length) return [next, next[0]!];
          const isOn = sn.less(time, length);
          return [next.map((t, k) => sn.where(isOn, t, carry[k]!)), sn.where(isOn, next[0]!, 0)];
        },
        first,
        [given, sn.iota([times], 0)] as [Tensor, Tensor],
        { reverse },
      );
    });
    const axis = isBatchFirst ? 1 : 0;
    const y = sn.stack(all.map(([, ys]) => ys), { axis: 1 });
    const last = Array.from({ length: states }, (_, k) => sn.stack(all.map(([end]) => end[k]!), { axis }));
    return [isBatchFirst ? sn.transpose(y, [2, 0, 1, 3]) : y, ...last];
  },
});

export const RECURRENT: Readonly<Record<string, Op>> = { RNN: recurrent('RNN'), GRU: recurrent('GRU'), LSTM: recurrent('LSTM') };
