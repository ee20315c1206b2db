// Compute pipelines, by the text of their shader, which determines its bindings. They are compiled in the background; a run
// waits for its own.

import { INTERNAL, type Failure, type Reach } from './reach.js';

/** A pipeline that is compiled when `over` is first read. */
export class Making {
  pipeline: GPUComputePipeline | null = null;
  /** Why the driver refused the shader, if it did. */
  failure: Failure | null = null;
  isOver = false;
  readonly #make: (making: Making) => Promise<void>;
  #over: Promise<void> | null = null;

  constructor(
    readonly code: string,
    make: (making: Making) => Promise<void>,
  ) {
    this.#make = make;
  }

  get over(): Promise<void> {
    return (this.#over ??= this.#make(this).finally(() => (this.isOver = true)));
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
  readonly #reach: Reach;
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  readonly #made = new Map<string, Making>();

  constructor(reach: Reach) {
    this.#reach = reach;
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
      this.#layouts.set(kinds, (layout = this.#reach.device.createBindGroupLayout({ entries })));
    }
    return layout;
  }

  of(code: string, kinds: string): Making {
    let making = this.#made.get(code);
    if (!making) this.#made.set(code, (making = new Making(code, (own) => this.#make(own, this.layout(kinds)))));
    return making;
  }

  async #make(making: Making, layout: GPUBindGroupLayout): Promise<void> {
    const { device } = this.#reach;
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ code: making.code });
    const refused = device.popErrorScope().catch(() => null);
    const compute = { module, entryPoint: 'main' };
    try {
      making.pipeline = await device.createComputePipelineAsync({ layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute });
    } catch (error) {
      const text = (await refused)?.message ?? String(error);
      making.failure = { status: INTERNAL, text: `the device refused a shader: ${text}` };
      this.#made.delete(making.code);
    }
  }
}
