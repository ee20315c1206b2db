// Measures the layers of a program, with one compiled function of the training state and a batch. It computes loss, gradient
// and update as a step does, but returns only histograms and a few figures, in one tensor. It changes nothing.

import * as sn from 'sinter';
import { updated, type State, type Training } from '../../program/workers/training.ts';
import { BINS, LEAST_POWER, MOST_POWER, type ActivationReport, type LayerReport, type LayersReport } from '../../state/inside.ts';
import { listening } from './watched.ts';

/** Of a tensor with more elements, only every second, third ... is counted. */
const MOST_COUNTED = 65_536;
/** The most layers that are shown, and the most activations. */
const MOST_SHOWN = 24;
/** Modules that are not shown: they only rearrange or select values. */
const SAME = ['dropout', 'flatten', 'maxPool2d', 'avgPool2d', 'embedding'];
/** The ends of the ranges of functions. A value that is within NEAR of an end counts as saturated. */
const ENDS: Record<string, readonly [number, number]> = { tanh: [-1, 1], sigmoid: [0, 1] };
const NEAR = 0.01;
const TINY = 1e-30;

interface Leaf {
  path: string[];
  value: sn.Tensor;
}

/** The tensors of a tree with their paths. */
function leavesOf(tree: unknown, path: string[] = []): Leaf[] {
  if (tree instanceof sn.Tensor) return [{ path, value: tree }];
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([key, part]) => leavesOf(part, [...path, key]));
}

/** Groups parameters by the path of the layer that they belong to. */
function layersOf(params: unknown): { path: string[]; leaves: number[] }[] {
  const found = new Map<string, { path: string[]; leaves: number[] }>();
  leavesOf(params).forEach(({ path }, i) => {
    const own = path.slice(0, -1);
    const layer = found.get(own.join('.')) ?? { path: own, leaves: [] };
    layer.leaves.push(i);
    found.set(own.join('.'), layer);
  });
  return [...found.values()];
}

function nameOf(path: string[], names: readonly string[]): string {
  const [first, ...rest] = path;
  const isPlace = first !== undefined && names[Number(first)] !== undefined;
  const parts = isPlace ? [`${Number(first) + 1} ${names[Number(first)]}`, ...rest] : path;
  return parts.join(' · ') || 'parameters';
}

/** A sample of the elements of a tensor, as a vector. */
function counted(t: sn.Tensor): sn.Tensor {
  const flat = sn.astype(t, 'float32').reshape([-1]);
  const stride = Math.ceil(flat.size / MOST_COUNTED);
  if (stride === 1) return flat;
  const size = Math.floor(flat.size / stride);
  return flat.slice([0], [size * stride]).reshape([size, stride]).slice([0, 0], [size, 1]).reshape([-1]);
}

/** The number of values in each bin; the values are from 0 to 1. */
function histogram(shares: sn.Tensor): sn.Tensor {
  const bins = sn.astype(sn.clip(sn.floor(shares.mul(BINS)), 0, BINS - 1), 'int32');
  return sn.scatterAdd(sn.zeros([BINS]), bins, sn.ones([shares.size]));
}

/** [range, ...counts]; the range is a power of two. */
function spread(values: sn.Tensor): sn.Tensor {
  const most = sn.maximum(sn.max(sn.where(sn.isfinite(values), sn.abs(values), 0)), TINY);
  const range = sn.exp2(sn.ceil(sn.log2(most)));
  return sn.concat([range.reshape([1]), histogram(values.div(range).add(1).div(2))]);
}

function bySize(values: sn.Tensor): sn.Tensor {
  const power = sn.log2(sn.maximum(sn.abs(values), TINY)).mul(Math.LOG10E * Math.LN2);
  return histogram(power.sub(LEAST_POWER).div(MOST_POWER - LEAST_POWER));
}

const length = (tensors: readonly sn.Tensor[]): sn.Tensor =>
  tensors.map((t) => t.square().sum()).reduce((a, b) => a.add(b)).sqrt();

const row = (...figures: sn.Tensor[]): sn.Tensor => sn.stack(figures.map((t) => sn.astype(t, 'float32').reshape([])));

/** The number of figures before the histograms of a layer, and of an activation. */
const LAYER_FIGURES = 4;
const ACTIVATION_FIGURES = 2;

function layerRow(weights: readonly sn.Tensor[], grads: readonly sn.Tensor[], next: readonly sn.Tensor[]): sn.Tensor {
  const updates = next.map((t, i) => t.sub(weights[i]));
  const wrong = grads.map((g) => sn.isfinite(g).logicalNot().astype('float32').sum()).reduce((a, b) => a.add(b));
  return sn.concat([
    row(length(weights), length(grads), length(updates), wrong),
    spread(sn.concat(weights.map(counted))),
    bySize(sn.concat(grads.map(counted))),
  ]);
}

interface Made {
  kind: string;
  value: sn.Tensor;
}

function activationRow({ kind, value }: Made): sn.Tensor {
  const others = value.shape.map((_, axis) => axis).slice(0, -1);
  const largest = others.length === 0 ? sn.abs(value) : sn.max(sn.abs(value), { axis: others });
  const dead = sn.equal(largest, 0).astype('float32').sum();
  const ends = ENDS[kind];
  const near = (end: number): sn.Tensor => sn.less(sn.abs(value.sub(end)), NEAR).astype('float32').mean();
  const saturated = ends === undefined ? sn.zeros([]) : near(ends[0]).add(near(ends[1]));
  return sn.concat([row(dead, saturated), spread(counted(value))]);
}

const isShown = ({ kind, value }: Made): boolean =>
  !SAME.includes(kind) && value.ndim > 0 && value.size > 0 && value.dtype.startsWith('float');

/** Reads rows of figures that are stored one after the other. */
class Rows {
  private at = 0;
  constructor(private readonly all: Float32Array) {}

  take(size: number): Float32Array {
    this.at += size;
    return this.all.slice(this.at - size, this.at);
  }
  spread(): { range: number; counts: Float32Array } {
    const [range] = this.take(1);
    return { range, counts: this.take(BINS) };
  }
}

type Look = Pick<LayersReport, 'layers' | 'activations' | 'note'>;

export class Layers {
  private run: sn.Jitted<[State, readonly sn.Tensor[]], sn.Tensor> | null = null;
  /** In the order in which the compiled program returns them. */
  private layers: { name: string; size: number }[] = [];
  private activations: Pick<ActivationReport, 'name' | 'kind' | 'units'>[] = [];
  private note = '';
  private rate: unknown;

  constructor(private readonly training: Training) {}

  look(state: State, batch: readonly sn.Tensor[]): Look {
    const { lr } = this.training.optimizer;
    if (this.run === null || this.rate !== lr) this.dispose();
    this.rate = lr;
    try {
      return this.read(state, batch);
    } catch (error) {
      if (this.run !== null || this.note !== '') throw error;
    }
    // Values made inside loops and inner derivatives cannot be read outside of them.
    this.note = 'This program makes its activations within loops or derivatives of its own, where they are not seen.';
    return this.read(state, batch);
  }

  dispose(): void {
    this.run?.dispose();
    this.run = null;
  }

  private read(state: State, batch: readonly sn.Tensor[]): Look {
    const run = this.run ?? (sn.jit((given: State, rows: readonly sn.Tensor[]) => this.trace(given, rows)) as never);
    const rows = new Rows(sn.tidy(() => (run as (...args: unknown[]) => sn.Tensor)(state, batch).dataSync() as Float32Array));
    this.run = run;
    const layers = this.layers.map(({ name, size }): LayerReport => {
      const [own, norm, update, notFinite] = rows.take(LAYER_FIGURES);
      return { name, size, length: own, norm, update, notFinite, weights: rows.spread(), gradients: rows.take(BINS) };
    });
    const activations = this.activations.map((each): ActivationReport => {
      const [dead, saturated] = rows.take(ACTIVATION_FIGURES);
      return { ...each, dead, saturated: ENDS[each.kind] === undefined ? NaN : saturated, values: rows.spread() };
    });
    return { layers, activations, note: this.note };
  }

  /** All rows, concatenated. */
  private trace(state: State, batch: readonly sn.Tensor[]): sn.Tensor {
    const { params } = state;
    const { grads, made } = this.differentiate(state, batch);
    const next = updated(this.training, grads, state);
    const [own, slopes, after] = [params, grads, next].map((tree) => leavesOf(tree).map(({ value }) => value));
    const shown = layersOf(params).slice(0, MOST_SHOWN);
    const values = made.filter(isShown).slice(0, MOST_SHOWN);
    this.layers = shown.map(({ path, leaves }) => ({
      name: nameOf(path, this.training.layers),
      size: leaves.reduce((sum, i) => sum + own[i].size, 0),
    }));
    this.activations = values.map(({ kind, value }) => ({ name: `${made.findIndex((each) => each.value === value) + 1} ${kind}`, kind, units: value.shape.at(-1) ?? 1 }));
    const rows = [
      ...shown.map(({ leaves }) => layerRow(leaves.map((i) => own[i]), leaves.map((i) => slopes[i]), leaves.map((i) => after[i]))),
      ...values.map(activationRow),
    ];
    const all = sn.concat(rows);
    sn.dispose(made.map(({ value }) => value));
    return all;
  }

  private differentiate({ params, state, key, optimizer }: State, batch: readonly sn.Tensor[]): { grads: unknown; made: Made[] } {
    const context = { state, key: key && sn.random.foldIn(key, optimizer.count) };
    const made: Made[] = [];
    const listen = (kind: string, value: sn.Tensor): void => void made.push({ kind, value: sn.keep(value) });
    const loss = (given: unknown): readonly [sn.Tensor, sn.Tensor[]] => {
      const result = this.training.loss(given, ...batch, context);
      return [result instanceof sn.Tensor ? result : result[0], made.map(({ value }) => value)];
    };
    const both = sn.valueAndGrad(loss as never, { hasAux: true }) as unknown as (params: unknown) => [[sn.Tensor, sn.Tensor[]], unknown];
    const [[, values], grads] = this.note === '' ? listening(listen, () => both(params)) : both(params);
    return { grads, made: made.map(({ kind }, i) => ({ kind, value: values[i] })) };
  }
}

