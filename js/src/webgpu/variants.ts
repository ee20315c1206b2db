// Of the shaders that the core offers for a product the one that is fastest on this adapter: tiles in the memory of a workgroup,
// larger or smaller ones, or none. All give the same bits. They are timed before the first run, on buffers of their own; what
// is found holds for the adapter, and is kept where a page has storage: then the others are not even made.

import type { ShaderChoice } from '../index.js';
import type { Making } from './pipelines.js';
import type { Reach } from './reach.js';

/** One of them. */
export interface Variant {
  name: string;
  making: Making;
  layout: GPUBindGroupLayout;
  bindings: readonly { size: number }[];
  constants: GPUBuffer | null;
  groups: [number, number, number];
}

/** A measurement takes about this long, of few runs; the least of a few counts. */
const LEAST_MS = 4;
const MOST_RUNS = 16;
const TURNS = 3;
/** What takes so long is not measured again: noise is short. */
const LONG_MS = 50;
/** One that takes so many times as long as another is not measured again; but a device that was idle is slow at first. */
const HOPELESS = 2;
/** Larger ones are not timed, as that would take as much memory again. */
const MOST_BYTES = 256 * 2 ** 20;
const MOST_NOTED = 64;

/** A text's length and 32 bits of it (FNV-1a). */
function hashOf(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return `${text.length}.${(h >>> 0).toString(36)}`;
}

/** Whether the driver makes a pipeline of it. */
async function isTaken(variant: Variant | undefined): Promise<boolean> {
  await variant?.making.over;
  return !!variant?.making.pipeline;
}

export class Variants {
  readonly #reach: Reach;
  readonly #tunes: boolean;
  /** The name under which a page keeps what was found. */
  readonly #place: string;
  readonly #found: Record<string, number>;
  /** Those that were timed here. */
  readonly noted: ShaderChoice[] = [];

  /** tunes: else the first one is taken. */
  constructor(reach: Reach, adapter: string, tunes: boolean) {
    this.#reach = reach;
    this.#tunes = tunes;
    this.#place = `sinter/webgpu ${adapter}`;
    this.#found = this.#load();
  }

  #load(): Record<string, number> {
    try {
      const found = JSON.parse(globalThis.localStorage?.getItem(this.#place) ?? '{}') as unknown;
      return typeof found === 'object' && found !== null ? (found as Record<string, number>) : {};
    } catch {
      return {}; // no storage here, or none for this page
    }
  }

  #save(): void {
    try {
      globalThis.localStorage?.setItem(this.#place, JSON.stringify(this.#found));
    } catch {
      // It is full, or not for this page: found again at the next visit.
    }
  }

  /** The fastest of those that the driver takes, by number; 0: it takes none, or there is no room to try. */
  async choose(list: readonly Variant[]): Promise<number> {
    const [first] = list as [Variant];
    const key = hashOf(first.making.code);
    const known = this.#tunes ? this.#found[key] : 0;
    if (known !== undefined && (await isTaken(list[known]))) return known;
    await Promise.all(list.map(isTaken));
    const taken = list.map((variant, i) => ({ variant, i })).filter(({ variant }) => variant.making.pipeline);
    const bytes = first.bindings.reduce((sum, { size }) => sum + size, 0);
    if (!this.#tunes || taken.length < 2 || bytes > MOST_BYTES) return taken[0]?.i ?? 0;
    const times = await this.#time(taken.map(({ variant }) => variant));
    const least = taken[times.indexOf(Math.min(...times))]!.i;
    this.#found[key] = least;
    this.#save();
    this.noted.push({ kernel: first.name, ms: list.map((_, i) => times[taken.findIndex((each) => each.i === i)] ?? null), chosen: least });
    if (this.noted.length > MOST_NOTED) this.noted.shift();
    return least;
  }

  /** Milliseconds of a run of each. */
  async #time(list: readonly Variant[]): Promise<number[]> {
    const { device } = this.#reach;
    const buffers = list[0]!.bindings.map(({ size }) => device.createBuffer({ size: Math.ceil(size / 16) * 16, usage: GPUBufferUsage.STORAGE }));
    const sides = list.map((variant) => ({ variant, group: this.#group(variant, buffers), runs: 1, ms: Infinity }));
    const measure = async ({ variant, group, runs }: (typeof sides)[0]): Promise<number> => {
      const begin = performance.now();
      this.#submit(variant, group, runs);
      await device.queue.onSubmittedWorkDone();
      return (performance.now() - begin) / runs;
    };
    try {
      for (const side of sides) await measure(side); // drivers do the last of their work at the first run
      for (const side of sides) {
        side.ms = await measure(side);
        side.runs = Math.max(1, Math.min(MOST_RUNS, Math.ceil(LEAST_MS / side.ms)));
      }
      for (let turn = 0; turn < TURNS; turn++) {
        const least = Math.min(...sides.map(({ ms }) => ms));
        const again = sides.filter(({ ms }) => ms < LONG_MS && (turn === 0 || ms < HOPELESS * least));
        for (const side of again) side.ms = Math.min(side.ms, await measure(side));
      }
      return sides.map(({ ms }) => ms);
    } finally {
      for (const buffer of buffers) buffer.destroy();
    }
  }

  #group({ layout, constants }: Variant, buffers: readonly GPUBuffer[]): GPUBindGroup {
    const bound = constants ? [...buffers, constants] : buffers;
    return this.#reach.device.createBindGroup({ layout, entries: bound.map((buffer, binding) => ({ binding, resource: { buffer } })) });
  }

  #submit({ making, groups }: Variant, group: GPUBindGroup, runs: number): void {
    const { device } = this.#reach;
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(making.pipeline!);
    pass.setBindGroup(0, group);
    for (let i = 0; i < runs; i++) pass.dispatchWorkgroups(...groups);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }
}
