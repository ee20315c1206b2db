// Chooses the fastest of the shader variants that the core offers for a product: tiles in workgroup memory, larger or smaller
// ones, or none. All give the same bits. They are timed before the first run, on buffers of their own. The result holds for the
// adapter and is stored if the page has storage; then the other variants are not even compiled.

import type { ShaderChoice } from '../index.js';
import type { Compilation } from './pipelines.js';
import type { DeviceState } from './devicestate.js';

/** One variant. */
export interface Variant {
  name: string;
  compilation: Compilation;
  layout: GPUBindGroupLayout;
  bindings: readonly { size: number }[];
  constants: GPUBuffer | null;
  groups: [number, number, number];
}

/** A measurement makes enough runs to take LEAST_MS, at most MOST_RUNS; the shortest of TURNS measurements counts. */
const LEAST_MS = 4;
const MOST_RUNS = 16;
const TURNS = 3;
/** A variant that takes this long is not measured again, since noise is short in comparison. */
const LONG_MS = 50;
/** A variant that takes this many times as long as the best is not measured again, except once: a device that was idle is
 *  slow at first. */
const HOPELESS = 2;
/** Products with more bytes are not timed, because the timing needs as much memory again. */
const MOST_BYTES = 256 * 2 ** 20;
const MOST_NOTED = 64;

/** The length of a text, and 32 bits of hash (FNV-1a). */
function hashOf(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return `${text.length}.${(h >>> 0).toString(36)}`;
}

/** Whether the driver accepts the variant. */
async function isTaken(variant: Variant | undefined): Promise<boolean> {
  await variant?.compilation.done;
  return !!variant?.compilation.pipeline;
}

export class Variants {
  readonly #state: DeviceState;
  readonly #tunes: boolean;
  /** The key under which the page's storage keeps the results. */
  readonly #place: string;
  readonly #found: Record<string, number>;
  /** The choices made by timing here. */
  readonly noted: ShaderChoice[] = [];

  /** tunes: whether to time variants; otherwise the first one is used. */
  constructor(state: DeviceState, adapter: string, tunes: boolean) {
    this.#state = state;
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
      // The storage is full, or not available to this page: the choice is made again at the next visit.
    }
  }

  /** The index of the fastest variant that the driver accepts. 0 if it accepts none, or if there is not enough room to try. */
  async choose(list: readonly Variant[]): Promise<number> {
    const [first] = list as [Variant];
    const key = hashOf(first.compilation.code);
    const known = this.#tunes ? this.#found[key] : 0;
    if (known !== undefined && (await isTaken(list[known]))) return known;
    await Promise.all(list.map(isTaken));
    const taken = list.map((variant, i) => ({ variant, i })).filter(({ variant }) => variant.compilation.pipeline);
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

  /** Milliseconds per run of each variant. */
  async #time(list: readonly Variant[]): Promise<number[]> {
    const { device } = this.#state;
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
    return this.#state.device.createBindGroup({ layout, entries: bound.map((buffer, binding) => ({ binding, resource: { buffer } })) });
  }

  #submit({ compilation, groups }: Variant, group: GPUBindGroup, runs: number): void {
    const { device } = this.#state;
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(compilation.pipeline!);
    pass.setBindGroup(0, group);
    for (let i = 0; i < runs; i++) pass.dispatchWorkgroups(...groups);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }
}
