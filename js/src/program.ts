// A compiled graph and how to call it. Placeholders stand for the inputs while the function is traced.

import { dtypeNumber } from './dtype.js';
import { runtime, runtimeOrNull } from './runtime/runtime.js';
import { Tensor, wrap, type Meta } from './tensor.js';

/** An argument of a program that is being traced. */
export function placeholder({ dtype, shape, key }: Meta): Tensor {
  const rt = runtime();
  rt.send(shape);
  return wrap(rt.exports.sinter_placeholder(dtypeNumber(dtype), shape.length), { dtype, shape, key });
}

/** What sn_program_describe tells. */
export interface ProgramInfo {
  nodes: number;
  kernels: number;
  arenaBytes: number;
  naiveBytes: number;
  flops: number;
  bytes: number;
}

export class Program {
  readonly #outputs: readonly Meta[];
  #address: number;

  /** Compiles outputs as a function of placeholders. donate: inputs whose memory it may take. */
  constructor(inputs: readonly Tensor[], outputs: readonly Tensor[], donate: readonly boolean[]) {
    const rt = runtime();
    rt.send([...inputs.map((t) => t.use('jit')), ...outputs.map((t) => t.use('jit')), ...donate.map(Number)]);
    this.#address = rt.check(rt.exports.sinter_compile(inputs.length, outputs.length));
    this.#outputs = outputs.map((t) => t.meta);
  }

  /** Runs it; returns new tensors. On a page a worker does, and the tensors have their values later. */
  run(inputs: readonly Tensor[]): Tensor[] {
    const rt = runtime();
    const count = this.#outputs.length;
    rt.scratch(inputs.length + count + 1);
    rt.send(inputs.map((t) => t.use('jit')));
    rt.ok(
      rt.runsAsync
        ? rt.exports.sinter_program_run_async(this.#address, inputs.length, count)
        : rt.exports.sinter_program_run(this.#address, inputs.length),
    );
    return rt.receive(inputs.length, count).map((address, i) => wrap(address, this.#outputs[i]!));
  }

  describe(): ProgramInfo {
    const rt = runtime();
    rt.exports.sinter_program_describe(this.#address);
    const at = rt.scratch(12) * 4;
    const [nodes, kernels, arenaBytes, naiveBytes, flops, bytes] = new Float64Array(rt.memory.buffer, at, 6);
    return {
      nodes: nodes!,
      kernels: kernels!,
      arenaBytes: arenaBytes!,
      naiveBytes: naiveBytes!,
      flops: flops!,
      bytes: bytes!,
    };
  }

  /** The graph after a stage; '' for one that was not recorded. */
  text(stage: string): string {
    const rt = runtime();
    const bytes = new TextEncoder().encode(`${stage}\0`);
    const at = rt.scratch(Math.ceil(bytes.length / 4));
    new Uint8Array(rt.memory.buffer).set(bytes, at * 4);
    return rt.text(rt.exports.sinter_program_text(this.#address));
  }

  release(): void {
    if (this.#address !== 0) runtimeOrNull()?.exports.sinter_program_release(this.#address);
    this.#address = 0;
  }
}
