// Pipelines by the text of their shader, which tells what it binds. They are made beside what follows: a run waits for its own.

import { INTERNAL, type Failure, type Reach } from './reach.js';

/** A pipeline under way. */
export interface Making {
  code: string;
  pipeline: GPUComputePipeline | null;
  /** What the driver says of a shader that it does not take. */
  failure: Failure | null;
  isOver: boolean;
  over: Promise<void>;
}

/** Of a layout's bindings: w, r of memory, c of constants, d of the numbers of rounds. */
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

  /** On another device. */
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

  make(code: string, kinds: string): Making {
    let making = this.#made.get(code);
    if (!making) this.#made.set(code, (making = this.#begin(code, this.layout(kinds))));
    return making;
  }

  #begin(code: string, layout: GPUBindGroupLayout): Making {
    const { device } = this.#reach;
    const making: Making = { code, pipeline: null, failure: null, isOver: false, over: Promise.resolve() };
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ code });
    const refused = device.popErrorScope().catch(() => null);
    const compute = { module, entryPoint: 'main' };
    const pipeline = device.createComputePipelineAsync({ layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute });
    making.over = pipeline
      .then(
        (made) => void (making.pipeline = made),
        async (error: unknown) => {
          const text = (await refused)?.message ?? String(error);
          making.failure = { status: INTERNAL, text: `the device refused a shader: ${text}` };
          this.#made.delete(code);
        },
      )
      .finally(() => (making.isOver = true));
    return making;
  }
}
