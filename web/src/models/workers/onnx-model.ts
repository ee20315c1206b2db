// A loaded ONNX file: its description, its runs, and the time of each node.

import * as sn from 'sinter';
import * as onnx from 'sinter/onnx';
import { describe } from '../../compiler/workers/source.ts';
import type { Facts, Given, NodeTime, Output, Ran } from '../protocol.ts';
import { blocksOf } from './blocks.ts';
import { facts, graphOf, shapeText, words } from './onnx-words.ts';

/** The most numbers of an output that are sent to the page: as many as a large picture has. */
const MOST_VALUES = 1 << 22;
/** The limits of repeated runs after the first: their number, and their total time in ms. */
const RUNS = 10;
const RUNS_MS = 600;

/** The dtype that holds the elements of an input. */
const DTYPES: Record<string, sn.DType> = { float: 'float32', double: 'float64', float16: 'float16', bfloat16: 'bfloat16', bool: 'bool', uint8: 'uint8', int8: 'int8', '': 'float32' };

export function tensorOf(dtype: string, shape: readonly number[], values: Float32Array): sn.Tensor {
  const t = sn.tensor(values, { shape: [...shape] });
  const wanted = DTYPES[dtype] ?? 'int32';
  return wanted === 'float32' ? t : t.astype(wanted);
}

export class OnnxModel {
  file: onnx.OnnxFile;
  /** null if it does not run; the facts then say why. */
  model: onnx.Model | null = null;
  readonly facts: Facts;

  constructor(
    name: string,
    public bytes: Uint8Array<ArrayBuffer>,
  ) {
    this.file = onnx.read(bytes);
    let problem: Facts['problem'] = null;
    try {
      this.model = onnx.load(bytes);
    } catch (error) {
      problem = describe(error);
    }
    const { inputs, outputs } = this.file;
    const plain = ({ name: own, dtype, shape }: onnx.Port): Facts['inputs'][number] => ({ name: own, dtype, shape });
    this.facts = {
      kind: 'onnx',
      name,
      words: words(this.file),
      facts: facts(this.file, bytes.length),
      graph: graphOf(this.file),
      inputs: inputs.map(plain),
      outputs: outputs.map(plain),
      blocks: blocksOf(this.file, new Set(Object.keys(this.model?.params ?? {}))).map(({ name: own, parameters }) => ({ name: own, parameters })),
      writes: false,
      problem,
    };
  }

  private get loaded(): onnx.Model {
    if (this.model === null) throw new Error('This model does not run.');
    return this.model;
  }

  private tensors(given: readonly Given[]): Record<string, sn.Tensor> {
    return Object.fromEntries(given.map(({ name, shape, values }) => [name, tensorOf(this.file.inputs.find((each) => each.name === name)?.dtype ?? '', shape, values)]));
  }

  run(given: readonly Given[]): Ran {
    return sn.tidy(() => {
      const inputs = this.tensors(given);
      const timed = (): [number, Record<string, onnx.Output>] => {
        const begin = performance.now();
        const made = this.loaded.run(inputs) as Record<string, onnx.Output>;
        for (const each of Object.values(made)) if (each instanceof sn.Tensor) sn.eval(each);
        return [performance.now() - begin, made];
      };
      const [firstMs, made] = timed();
      const outputs = Object.entries(made).map(([name, each]) => outputOf(name, each));
      let ms = firstMs;
      const end = performance.now() + RUNS_MS;
      for (let i = 0; i < RUNS && performance.now() < end; i++) {
        const [again, tensors] = timed();
        sn.dispose(tensors);
        ms = Math.min(ms, again);
      }
      return { outputs, firstMs, ms };
    });
  }

  times(given: readonly Given[]): NodeTime[] {
    const list: NodeTime[] = [];
    sn.tidy(() => {
      const inputs = this.tensors(given);
      // The first run compiles each op, so it is not timed.
      sn.dispose(this.loaded.run(inputs, { onNode: () => undefined }));
      sn.dispose(this.loaded.run(inputs, {
        onNode: ({ node, ms, outputs }) => list.push({ node, ms, shape: shapeText((outputs[0]?.shape as number[] | undefined) ?? null) }),
      }));
    });
    return list;
  }

  /** Replaces the file by one with other weights, perhaps with another last layer. */
  renew(bytes: Uint8Array<ArrayBuffer>): void {
    const model = onnx.load(bytes);
    this.dispose();
    this.model = model;
    this.file = onnx.read(bytes);
    this.bytes = bytes;
  }

  dispose(): void {
    this.model?.dispose();
  }
}

function outputOf(name: string, value: onnx.Output): Output {
  if (!(value instanceof sn.Tensor)) return { name, dtype: 'text', shape: [], values: new Float32Array(0) };
  const size = Math.min(value.size, MOST_VALUES);
  const values = Float32Array.from(value.dataSync() as ArrayLike<number>).slice(0, size);
  return { name, dtype: value.dtype, shape: [...value.shape], values };
}
