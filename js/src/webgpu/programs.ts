// Programs: dispatches in their order, with pipelines shared by text. A run is one submission: one pass over all dispatches.
// What a dispatch binds changes only where the caller's buffers do, so groups of bindings are kept by their buffers.

import type { Buffers } from './buffers.js';

/** Words of sn_dispatch: text, bindings, how many, constants, how many, workgroups; and of one binding. */
const DISPATCH_WORDS = 8;
const BINDING_WORDS = 4;

interface Binding {
  /** Of the program, by number. */
  buffer: number;
  offset: number;
  size: number;
  writes: boolean;
}

interface Dispatch {
  pipeline: GPUComputePipeline;
  layout: GPUBindGroupLayout;
  bindings: Binding[];
  constants: GPUBuffer | null;
  groups: [number, number, number];
  /** Made for these buffers, by number. */
  made: { key: string; group: GPUBindGroup } | null;
}

interface Program {
  dispatches: Dispatch[];
}

export class Programs {
  readonly #device: GPUDevice;
  readonly #memory: WebAssembly.Memory;
  readonly #buffers: Buffers;
  readonly #list: (Program | null)[] = [null]; // number 0 is none
  /** By what is bound: w, r of memory, c of constants. */
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  /** By text, which tells what it binds. */
  readonly #pipelines = new Map<string, GPUComputePipeline>();

  constructor(device: GPUDevice, memory: WebAssembly.Memory, buffers: Buffers) {
    this.#device = device;
    this.#memory = memory;
    this.#buffers = buffers;
  }

  begin(): number {
    return this.#list.push({ dispatches: [] }) - 1;
  }

  #words(at: number, count: number): number[] {
    return Array.from(new Uint32Array(this.#memory.buffer, at, count));
  }

  #text(at: number): string {
    const bytes = new Uint8Array(this.#memory.buffer);
    return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
  }

  #layout(bindings: readonly Binding[], hasConstants: boolean): GPUBindGroupLayout {
    const key = bindings.map(({ writes }) => (writes ? 'w' : 'r')).join('') + (hasConstants ? 'c' : '');
    let layout = this.#layouts.get(key);
    if (!layout) {
      const types = { w: 'storage', r: 'read-only-storage', c: 'uniform' } as const;
      layout = this.#device.createBindGroupLayout({
        entries: [...key].map((kind, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: types[kind as keyof typeof types] },
        })),
      });
      this.#layouts.set(key, layout);
    }
    return layout;
  }

  #pipeline(code: string, layout: GPUBindGroupLayout): GPUComputePipeline {
    let pipeline = this.#pipelines.get(code);
    if (!pipeline) {
      const module = this.#device.createShaderModule({ code });
      pipeline = this.#device.createComputePipeline({
        layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: 'main' },
      });
      this.#pipelines.set(code, pipeline);
    }
    return pipeline;
  }

  #constants(words: number[]): GPUBuffer | null {
    if (words.length === 0) return null;
    const size = Math.ceil(words.length / 4) * 16;
    const buffer = this.#device.createBuffer({ size, usage: GPUBufferUsage.UNIFORM, mappedAtCreation: true });
    new Uint32Array(buffer.getMappedRange()).set(words);
    buffer.unmap();
    return buffer;
  }

  /** Adds an sn_dispatch to a program. */
  add(program: number, at: number): void {
    const [text, bindings, nBindings, constants, nConstants, x, y, z] = this.#words(at, DISPATCH_WORDS) as [
      number, number, number, number, number, number, number, number,
    ];
    const words = this.#words(bindings, nBindings * BINDING_WORDS);
    const list = Array.from({ length: nBindings }, (_, i): Binding => {
      const [buffer, offset, size, writes] = words.slice(i * BINDING_WORDS) as [number, number, number, number];
      return { buffer, offset, size, writes: writes !== 0 };
    });
    const layout = this.#layout(list, nConstants > 0);
    this.#list[program]!.dispatches.push({
      pipeline: this.#pipeline(this.#text(text), layout),
      layout,
      bindings: list,
      constants: this.#constants(this.#words(constants, nConstants)),
      groups: [x, y, z],
      made: null,
    });
  }

  forget(program: number): void {
    for (const { constants } of this.#list[program]!.dispatches) constants?.destroy();
    this.#list[program] = null;
  }

  #group(dispatch: Dispatch, buffers: number[]): GPUBindGroup {
    const key = dispatch.bindings.map(({ buffer }) => buffers[buffer]).join();
    if (dispatch.made?.key === key) return dispatch.made.group;
    const entries: GPUBindGroupEntry[] = dispatch.bindings.map(({ buffer, offset, size }, binding) => ({
      binding,
      resource: { buffer: this.#buffers.get(buffers[buffer]!), offset, size },
    }));
    if (dispatch.constants) entries.push({ binding: entries.length, resource: { buffer: dispatch.constants } });
    const group = this.#device.createBindGroup({ layout: dispatch.layout, entries });
    dispatch.made = { key, group };
    return group;
  }

  /** Submits a program on buffers, by their numbers in a list of the core. */
  run(program: number, list: number, count: number): number {
    const buffers = this.#words(list, count);
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const dispatch of this.#list[program]!.dispatches) {
      pass.setPipeline(dispatch.pipeline);
      pass.setBindGroup(0, this.#group(dispatch, buffers));
      pass.dispatchWorkgroups(...dispatch.groups);
    }
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
    return 0;
  }
}
