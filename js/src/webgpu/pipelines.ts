// Compute pipelines, by the text of their shader, which determines its bindings. They are compiled in the background; a run
// waits for its own.

import { INTERNAL, type Failure, type DeviceState } from './devicestate.js';

/** A pipeline that is compiled when `done` is first read. */
export class Compilation {
  pipeline: GPUComputePipeline | null = null;
  /** Why the driver refused the shader, if it did. */
  failure: Failure | null = null;
  isDone = false;
  readonly #make: (compilation: Compilation) => Promise<void>;
  #done: Promise<void> | null = null;

  constructor(
    readonly code: string,
    make: (compilation: Compilation) => Promise<void>,
  ) {
    this.#make = make;
  }

  get done(): Promise<void> {
    return (this.#done ??= this.#make(this).finally(() => (this.isDone = true)));
  }
}

/** The letters of a layout's bindings: w and r for written and read storage, c for constants, d for the numbers of rounds. */
const BUFFERS: Record<string, GPUBufferBindingLayout> = {
  w: { type: 'storage' },
  r: { type: 'read-only-storage' },
  c: { type: 'uniform' },
  d: { type: 'uniform', hasDynamicOffset: true },
};

export class Pipelines {
  readonly #state: DeviceState;
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  readonly #made = new Map<string, Compilation>();

  constructor(state: DeviceState) {
    this.#state = state;
  }

  /** Forgets all pipelines, for another device. */
  renew(): void {
    this.#layouts.clear();
    this.#made.clear();
  }

  layout(kinds: string): GPUBindGroupLayout {
    let layout = this.#layouts.get(kinds);
    if (!layout) {
      const entries = [...kinds].map((kind, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: BUFFERS[kind]! }));
      this.#layouts.set(kinds, (layout = this.#state.device.createBindGroupLayout({ entries })));
    }
    return layout;
  }

  of(code: string, kinds: string): Compilation {
    let compilation = this.#made.get(code);
    if (!compilation) this.#made.set(code, (compilation = new Compilation(code, (own) => this.#make(own, this.layout(kinds)))));
    return compilation;
  }

  async #make(compilation: Compilation, layout: GPUBindGroupLayout): Promise<void> {
    const { device } = this.#state;
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ code: compilation.code });
    const refused = device.popErrorScope().catch(() => null);
    const compute = { module, entryPoint: 'main' };
    try {
      compilation.pipeline = await device.createComputePipelineAsync({ layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute });
    } catch (error) {
      const text = (await refused)?.message ?? String(error);
      compilation.failure = { status: INTERNAL, text: `the device refused a shader: ${text}` };
      this.#made.delete(compilation.code);
    }
  }
}
