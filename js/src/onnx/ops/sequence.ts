// Sequences and optionals, and ops whose results have a size that depends on values.

import * as sn from '../../index.js';
import type { Node, Op } from '../plan.js';
import { arranged } from '../fold.js';
import { countOf } from '../tensors.js';
import { BOOL, INT64 } from '../types.js';
import { known, made, nothing, sequence, type Value } from '../value.js';
import { axisOf, concatenated, moved } from './shape.js';

function placeOf(n: Node, at: Value | undefined, count: number, otherwise: number): number {
  const place = at ? axisOf(Number(at.elements[0]), count) : otherwise;
  if (place < 0 || place > count) throw n.fail(`place ${place} of a sequence of ${count}`);
  return place;
}

const inserted = (list: readonly Value[], at: number, value: Value): Value => sequence([...list.slice(0, at), value, ...list.slice(at)]);
const erased = (list: readonly Value[], at: number): Value => sequence(list.filter((_, i) => i !== at));

const splitToSequence: Op = {
  since: 11,
  run: (n, x, split) => {
    const axis = axisOf(n.int('axis'), x!.rank);
    const length = x!.shape[axis]!;
    const each = split && split.rank === 0 ? Number(split.elements[0]) : 1;
    const sizes = split && split.rank > 0 ? split.numbers : Array.from({ length: Math.ceil(length / each) }, (_, i) => Math.min(each, length - i * each));
    const drops = !split && !n.flag('keepdims', true);
    let at = 0;
    return sequence(
      sizes.map((count) => {
        const begin = x!.shape.map((_, i) => (i === axis ? at : 0));
        at += count;
        return moved(x!, (t) => {
          const part = sn.slice(t, begin, x!.shape.map((size, i) => (i === axis ? count : size)));
          return drops ? sn.squeeze(part, axis) : part;
        });
      }),
    );
  },
  forms: [1],
};

const concatFromSequence: Op = {
  since: 11,
  run: (n, x) => {
    if (!n.flag('new_axis')) return concatenated(x!.list, n.int('axis'));
    return made(x!.list[0]!.type, sn.stack(x!.list.map((value) => value.t), { axis: axisOf(n.int('axis'), x!.list[0]!.rank + 1) }));
  },
};

/** The boxes with the best scores that do not overlap better ones by more than the threshold. */
const nonMaxSuppression: Op = {
  since: 10,
  run: (n, boxes, scores, most, overlap, least) => {
    const [corners, values] = [boxes!.numbers, scores!.numbers];
    const [batches, classes, count] = scores!.shape as [number, number, number];
    const limit = most ? Number(most.elements[0]) : 0;
    const [threshold, lowest] = [overlap ? Number(overlap.elements[0]) : 0, least ? Number(least.elements[0]) : -Infinity];
    const isCentred = n.flag('center_point_box');
    /** [y1, x1, y2, x2] */
    const boxOf = (batch: number, i: number): number[] => {
      const [a, b, c, d] = corners.slice((batch * count + i) * 4, (batch * count + i) * 4 + 4) as [number, number, number, number];
      return isCentred ? [b - d / 2, a - c / 2, b + d / 2, a + c / 2] : [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
    };
    const area = ([top, left, bottom, right]: number[]): number => (bottom! - top!) * (right! - left!);
    const share = (p: number[], q: number[]): number => {
      const height = Math.min(p[2]!, q[2]!) - Math.max(p[0]!, q[0]!);
      const width = Math.min(p[3]!, q[3]!) - Math.max(p[1]!, q[1]!);
      const common = Math.max(height, 0) * Math.max(width, 0);
      return common === 0 ? 0 : common / (area(p) + area(q) - common);
    };
    const found: number[] = [];
    for (let batch = 0; batch < batches; batch++) {
      for (let kind = 0; kind < classes; kind++) {
        const score = (i: number): number => values[(batch * classes + kind) * count + i]!;
        const order = Array.from({ length: count }, (_, i) => i).filter((i) => score(i) > lowest).sort((i, k) => score(k) - score(i) || i - k);
        const kept: number[] = [];
        for (const i of order) {
          if (kept.length >= limit) break;
          if (kept.every((k) => share(boxOf(batch, i), boxOf(batch, k)) <= threshold)) kept.push(i);
        }
        for (const i of kept) found.push(batch, kind, i);
      }
    }
    return known(INT64, [found.length / 3, 3], found);
  },
};

/** The distinct elements, or the distinct slices along an axis. */
const unique: Op = {
  since: 11,
  run: (n, x) => {
    const axis = n.has('axis') ? axisOf(n.int('axis'), x!.rank) : -1;
    const shape = axis < 0 ? [1, x!.size, 1] : [countOf(x!.shape.slice(0, axis)), x!.shape[axis]!, countOf(x!.shape.slice(axis + 1))];
    const [outer, length, inner] = shape as [number, number, number];
    const elements = x!.elements as ArrayLike<number | string>;
    const row = (i: number): (number | string)[] => Array.from({ length: outer * inner }, (_, k) => elements[Math.floor(k / inner) * length * inner + i * inner + (k % inner)]!);
    const first = new Map<string, number>();
    const counts = new Map<string, number>();
    const keys = Array.from({ length }, (_, i) => JSON.stringify(row(i).map((value) => (Number.isNaN(value) ? `NaN${i}` : value))));
    keys.forEach((key, i) => {
      if (!first.has(key)) first.set(key, i);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    });
    let order = [...first.keys()];
    const less = (a: readonly (number | string)[], b: readonly (number | string)[]): number => {
      const i = a.findIndex((value, k) => value !== b[k]);
      return i < 0 ? 0 : a[i]! < b[i]! ? -1 : 1;
    };
    if (n.flag('sorted', true)) order = order.map((key) => ({ key, row: row(first.get(key)!) })).sort((a, b) => less(a.row, b.row)).map(({ key }) => key);
    const places = order.map((key) => first.get(key)!);
    const at = new Map(order.map((key, i) => [key, i]));
    const wanted = axis < 0 ? [order.length] : x!.shape.map((size, i) => (i === axis ? order.length : size));
    const flat = known(x!.type, axis < 0 ? [x!.size] : x!.shape, x!.elements);
    const y = arranged(flat, wanted, (place, i) => (i === Math.max(axis, 0) ? places[place[i]!]! : place[i]!));
    const whole = (values: number[]): Value => known(INT64, [values.length], values);
    return [y, whole(places), whole(keys.map((key) => at.get(key)!)), whole(order.map((key) => counts.get(key)!))];
  },
};

export const SEQUENCE: Readonly<Record<string, Op>> = {
  SequenceConstruct: { since: 11, run: (_, ...x) => sequence(x) },
  SequenceEmpty: { since: 11, run: () => sequence([]) },
  SequenceLength: { since: 11, run: (_, x) => known(INT64, [], [x!.list.length]) },
  SequenceAt: { since: 11, run: (n, x, at) => x!.list[placeOf(n, at, x!.list.length, 0)] ?? nothing() },
  SequenceInsert: { since: 11, run: (n, x, value, at) => inserted(x!.list, placeOf(n, at, x!.list.length, x!.list.length), value!) },
  SequenceErase: { since: 11, run: (n, x, at) => erased(x!.list, placeOf(n, at, x!.list.length, x!.list.length - 1)) },
  SplitToSequence: splitToSequence,
  ConcatFromSequence: concatFromSequence,
  Optional: { since: 15, run: (_, x) => x ?? nothing() },
  OptionalHasElement: { since: 15, run: (_, x) => known(BOOL, [], [x && x.items !== null ? 1 : 0]) },
  OptionalGetElement: {
    since: 15,
    run: (n, x) => {
      if (x!.items === null) throw n.fail('the optional is empty');
      return x!;
    },
  },
  NonMaxSuppression: nonMaxSuppression,
  Unique: unique,
};
