// The slices of a profile in lanes, one per worker, ordered by time. Lanes are searched by bisection, since they may have
// 100,000 slices.

import type { Profiled } from '../protocol.ts';

/** A slice of a lane, or the gap between two. */
export interface Found {
  worker: number;
  /** Its index in the arrays of the profile; null for a gap. */
  slice: number | null;
  begin: number;
  end: number;
}

export type Gap = 'waiting' | 'dispatch' | 'compile' | 'host';

export const GAPS: Readonly<Record<Gap, string>> = {
  waiting: 'waiting for other threads',
  dispatch: 'handing out work',
  compile: 'compiling',
  host: 'JavaScript',
};

/** The first of n indices for which `after` holds; it must hold for all that follow. */
function first(n: number, after: (i: number) => boolean): number {
  let [low, high] = [0, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export class Lanes {
  /** For each worker the indices of its slices, ordered by time. */
  readonly lanes: Uint32Array[];

  constructor(readonly data: Profiled) {
    const lists: number[][] = Array.from({ length: data.workers.length }, () => []);
    data.worker.forEach((worker, i) => lists[worker]?.push(i));
    this.lanes = lists.map((list) => Uint32Array.from(list.sort((a, b) => data.begin[a] - data.begin[b])));
  }

  /** The first position in a lane whose slice ends after t. */
  from(worker: number, t: number): number {
    const lane = this.lanes[worker];
    return first(lane.length, (i) => this.data.end[lane[i]] > t);
  }

  at(worker: number, t: number): Found {
    const lane = this.lanes[worker];
    const { begin, end, totalMs } = this.data;
    const i = this.from(worker, t);
    const slice = lane[i];
    if (slice !== undefined && begin[slice] <= t) return { worker, slice, begin: begin[slice], end: end[slice] };
    return { worker, slice: null, begin: i > 0 ? end[lane[i - 1]] : 0, end: slice === undefined ? totalMs : begin[slice] };
  }

  /** What the worker does in the middle of a gap. */
  nameGap({ worker, begin, end }: Found): Gap {
    const t = (begin + end) / 2;
    const within = (pairs: Float64Array): boolean => {
      const i = first(pairs.length / 2, (k) => pairs[2 * k + 1] > t);
      return 2 * i < pairs.length && pairs[2 * i] <= t;
    };
    const others = this.lanes.some((_, other) => other !== worker && this.at(other, t).slice !== null);
    return others ? 'waiting' : within(this.data.runs) ? 'dispatch' : within(this.data.compiles) ? 'compile' : 'host';
  }
}
