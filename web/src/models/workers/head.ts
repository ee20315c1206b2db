// The last layer of a classifier if it is plain: one product with a weight, perhaps with a bias. For another number of classes
// it is replaced by a new one.

import * as sn from 'sinter';
import * as onnx from 'sinter/onnx';

export interface Head {
  weight: string;
  /** The axis of the weight that indexes the outputs. */
  axis: number;
  bias: string | null;
  outputs: number;
}

/** The standard deviation of new weights. */
const SMALL = 0.01;

/** scores: the name of the value that the layer computes. null if something else than a plain layer computes it. */
export function headOf({ nodes, weights }: onnx.OnnxFile, scores: string): Head | null {
  const shapes = new Map(weights.map(({ name, shape }) => [name, shape]));
  const maker = (name: string): onnx.OnnxNode | undefined => nodes.find(({ outputs }) => outputs.includes(name));
  const last = maker(scores);
  if (last === undefined) return null;
  const added = last.op === 'Add' ? last.inputs.find((name) => !shapes.has(name)) : undefined;
  const product = added === undefined ? last : maker(added);
  if (product?.op !== 'Gemm' && product?.op !== 'MatMul') return null;
  const weight = product.inputs[1];
  const bias = added === undefined ? (product.inputs[2] ?? '') : (last.inputs.find((name) => shapes.has(name)) ?? '');
  const shape = shapes.get(weight);
  const outputs = bias === '' ? null : shapes.get(bias)?.reduce((product_, size) => product_ * size, 1);
  if (shape?.length !== 2 || outputs === undefined) return null;
  // Gemm may read its weight transposed; the size of the bias tells which axis indexes the outputs.
  const axis = product.op === 'MatMul' ? 1 : outputs === null || shape[0] === shape[1] ? -1 : shape.indexOf(outputs);
  const isUsedOnce = [weight, bias].every((name) => name === '' || nodes.filter(({ inputs }) => inputs.includes(name)).length === 1);
  if (axis < 0 || !isUsedOnce || (outputs !== null && shape[axis] !== outputs)) return null;
  return { weight, axis, bias: bias === '' ? null : bias, outputs: shape[axis] };
}

/** The file with a new last layer for the given number of classes. */
export function withClasses(bytes: Uint8Array<ArrayBuffer>, file: onnx.OnnxFile, scores: string, { weight, axis, bias }: Head, classes: number): Uint8Array<ArrayBuffer> {
  const sizeOf = (name: string): number[] => [...(file.weights.find((each) => each.name === name)?.shape ?? [])];
  const shape = sizeOf(weight);
  shape[axis] = classes;
  const own = file.outputs[0];
  const last = own.shape === null ? null : [...own.shape.slice(0, -1), classes];
  return sn.tidy(() => {
    const weights: Record<string, sn.Tensor> = { [weight]: sn.random.normal(sn.random.key(1), shape).mul(SMALL) };
    if (bias !== null) weights[bias] = sn.zeros([...sizeOf(bias).slice(0, -1), classes]);
    return onnx.resize(bytes, { weights, shapes: last === null ? {} : { [own.name]: last, [scores]: last } });
  });
}
