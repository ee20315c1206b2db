// Pipelines by the text of their shader, which tells what it binds. They are made beside what follows: a run waits for its own.

/** A pipeline under way; none when it is over: the driver refused it. */
export interface Making {
  pipeline: GPUComputePipeline | null;
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
  readonly #device: GPUDevice;
  readonly #refused: (text: string) => void;
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  readonly #made = new Map<string, Making>();

  /** refused: told what the driver says of a shader that it does not take. */
  constructor(device: GPUDevice, refused: (text: string) => void) {
    this.#device = device;
    this.#refused = refused;
  }

  layout(kinds: string): GPUBindGroupLayout {
    let layout = this.#layouts.get(kinds);
    if (!layout) {
      const entries = [...kinds].map((kind, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: BUFFERS[kind]! }));
      this.#layouts.set(kinds, (layout = this.#device.createBindGroupLayout({ entries })));
    }
    return layout;
  }

  make(code: string, layout: GPUBindGroupLayout): Making {
    let making = this.#made.get(code);
    if (!making) this.#made.set(code, (making = this.#begin(code, layout)));
    return making;
  }

  #begin(code: string, layout: GPUBindGroupLayout): Making {
    const making: Making = { pipeline: null, isOver: false, over: Promise.resolve() };
    const module = this.#device.createShaderModule({ code });
    const descriptor = {
      layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: 'main' },
    };
    making.over = this.#device.createComputePipelineAsync(descriptor).then(
      (pipeline) => void (making.pipeline = pipeline),
      (error: unknown) => this.#refused(String(error)),
    ).finally(() => (making.isOver = true));
    return making;
  }
}
