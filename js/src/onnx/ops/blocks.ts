// Products with a matrix in blocks of 2, 4 or 8 bits: an op of onnxruntime, and a MatMul with a DequantizeLinear of the file's
// numbers. Each block along a row has a scale s and a zero point z (along a column for DequantizeLinear, where rows and columns
// are exchanged):
//
//   y = x w',  w = (q - z) s
//
// A matrix of the file is laid out once, as blocks for sinter.matmulBlocks and dequantizeBlocks: Q4_0 or Q8_0, whose numbers
// are q - c, where c is the middle of the range of q. If x may be quantised to 8 bits, the blocks contain the scales, and
//
//   y = x ((q - c) s)' + sums of x over each block ((c - z) s)'
//
// Otherwise the scales in the blocks are 1, and those of the file are parameters like other weights.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op, Prepared, Step, Weights } from '../plan.js';
import { made, type Value } from '../value.js';

const { bytesOf } = sn.internals;

const WIDTHS = [2, 4, 8];
/** The accuracy_level that allows quantising x. */
const INT8_LEVEL = 4;

/** Numbers per block of Q4_0 and Q8_0. */
const PART = 32;
/** The relative error allowed for scales in float16. */
const HALF = 2 ** -11;

interface BlockLayout {
  rows: number;
  columns: number;
  /** Numbers per block. */
  size: number;
  bits: number;
  /** Blocks per row. */
  blocks: number;
  /** c, the middle of the range of q. */
  middle: number;
  /** true: scales and zero points are (blocks, rows), one element each. false: (rows, blocks), and zero points may be packed
   *  in bytes. */
  isTransposed: boolean;
}

function layoutOf(n: Node, b: { shape: readonly number[] }): BlockLayout {
  const bits = n.int('bits', 4);
  return { rows: n.int('N'), columns: n.int('K'), size: n.int('block_size'), bits, blocks: b.shape[1] ?? 0, middle: 2 ** (bits - 1), isTransposed: false };
}

/** Unpacks numbers of so many bits from bytes, the lowest bits first: the last axis becomes 8 / bits times as long. */
function unpacked(t: Tensor, bits: number): Tensor {
  if (bits === 8) return t.astype('int32');
  const parts = Array.from({ length: 8 / bits }, (_, i) => sn.bitwiseAnd(sn.shiftRightLogical(t.astype('int32'), i * bits), 2 ** bits - 1));
  return sn.reshape(sn.stack(parts, { axis: -1 }), [...t.shape.slice(0, -1), -1]);
}

/** Brings values of which each block has one to the shape (rows, blocks). */
const byBlocks = ({ rows, blocks, isTransposed }: BlockLayout, t: Tensor): Tensor => (isTransposed ? sn.transpose(t) : sn.reshape(t, [rows, blocks]));

/** z of each block, as (rows, blocks). If they are packed in bytes, each row starts at a whole byte. */
function zerosOf(layout: BlockLayout, zeros: Tensor): Tensor {
  const { rows, blocks, bits, isTransposed } = layout;
  if (isTransposed || zeros.dtype !== 'uint8') return byBlocks(layout, zeros).astype('float32');
  return sn.slice(unpacked(sn.reshape(zeros, [rows, -1]), bits), [0, 0], [rows, blocks]).astype('float32');
}

/** c - z of each block; null if that is 0 everywhere. If no zero points are given, z is c, but 0 for DequantizeLinear. */
function movesOf(layout: BlockLayout, zeros: Tensor | undefined): Tensor | null {
  if (zeros) return sn.sub(layout.middle, zerosOf(layout, zeros));
  return layout.isTransposed && layout.middle > 0 ? sn.full([layout.rows, layout.blocks], layout.middle) : null;
}

const isGiven = (slot = -1): boolean => slot >= 0;

const withBias = (a: Value, y: Tensor, bias: Value | undefined): Value => made(a.type, bias ? sn.add(y, bias.t) : y);

const kindOf = ({ bits }: BlockLayout): 'Q4_0' | 'Q8_0' => (bits === 8 ? 'Q8_0' : 'Q4_0');

/** q (rows, columns padded to whole blocks) from packed codes (rows, blocks, bytes). */
const numbersOf = ({ rows, blocks, size, bits }: BlockLayout, codes: Tensor): Tensor => sn.reshape(unpacked(codes, bits), [rows, blocks * size]);

/** Lays q out as blocks. scales: for each 32 numbers the two bytes of a float16. */
function laidOut({ rows, blocks, size, bits, middle }: BlockLayout, q: Tensor, scales: Tensor): Tensor {
  const numbers = sn.sub(q, middle);
  const parts = sn.reshape(sn.pad(numbers, [[0, 0], [0, -(blocks * size) & (PART - 1)]]), [rows, -1, PART]);
  const [low, high] = sn.split(sn.add(parts, 8), 2, { axis: -1 }) as [Tensor, Tensor];
  const bytes = sn.bitwiseAnd(bits === 8 ? parts : sn.add(low, sn.mul(high, 16)), 255).astype('uint8');
  return sn.reshape(sn.concat([scales, bytes], { axis: -1 }), [rows, -1]);
}

/** Prepares a product that uses x unchanged: dequantises the matrix in every run. */
function whole(layout: BlockLayout, q: Tensor): Prepared {
  const ones = sn.tensor([0, 0x3c], { dtype: 'uint8' }); // 1 in float16
  const blocks = laidOut(layout, q, sn.broadcastTo(ones, [layout.rows, Math.ceil((layout.blocks * layout.size) / PART), 2]));
  const run: Op['run'] = (_n, a, _b, scales, zeros, _o, bias) => {
    const numbers = sn.slice(sn.dequantizeBlocks(blocks, { kind: kindOf(layout) }), [0, 0], [layout.rows, layout.blocks * layout.size]);
    const inBlocks = sn.reshape(numbers, [layout.rows, layout.blocks, layout.size]);
    const moves = movesOf(layout, zeros?.t);
    const apart = moves ? sn.add(inBlocks, sn.expandDims(moves, -1)) : inBlocks;
    const w = sn.reshape(sn.mul(apart, sn.expandDims(byBlocks(layout, scales!.t), -1)), [layout.rows, layout.blocks * layout.size]);
    const y = sn.matmul(a!.t, sn.transpose(sn.slice(w, [0, 0], [layout.rows, layout.columns]).astype(a!.t.dtype)));
    return withBias(a!, y, bias);
  };
  return { run, behind: 2, tensors: [blocks] };
}

/** Prepares a product that quantises x; null if float16 cannot hold the scales, to within HALF of the largest one of a row. */
function quantised(layout: BlockLayout, q: Tensor, scales: Tensor, zeros: Tensor | undefined): Prepared | null {
  const exact = byBlocks(layout, scales.astype('float32'));
  const halves = exact.astype('float16');
  const allowed = sn.mul(sn.max(sn.abs(exact), { axis: 1, keepdims: true }), HALF);
  const apart = sn.sub(sn.abs(sn.sub(exact, halves.astype('float32'))), allowed);
  if (!((sn.max(apart).dataSync()[0] as number) <= 0)) return null;
  const parts = layout.size / PART;
  const bytes = bytesOf(sn.repeat(halves, parts, { axis: 1 }), 'onnx');
  const blocks = laidOut(layout, q, sn.tensor(bytes, { shape: [layout.rows, layout.blocks * parts, 2] }));
  const moves = movesOf(layout, zeros);
  const rest = moves && sn.transpose(sn.mul(moves, exact));
  const spare = layout.blocks * layout.size - layout.columns;
  const run: Op['run'] = (_n, a, _b, _s, _z, _o, bias) => {
    const before = a!.shape.slice(0, -1);
    const x = spare === 0 ? a!.t.astype('float32') : sn.pad(a!.t.astype('float32'), [...before.map(() => [0, 0] as const), [0, spare]]);
    const y = sn.matmulBlocks(x, blocks, { kind: kindOf(layout) });
    const sums = (): Tensor => sn.sum(sn.reshape(x, [...before, layout.blocks, layout.size]), { axis: -1 });
    return withBias(a!, rest ? sn.add(y, sn.matmul(sums(), rest)) : y, bias);
  };
  return { run, behind: 4, tensors: rest ? [blocks, rest] : [blocks] };
}

/** Prepares a step for its matrix q: with x quantised where that is allowed and possible. */
function prepared(layout: BlockLayout, q: Tensor, step: Step, weights: Weights): Prepared {
  const [scales, zeros] = [weights(2), weights(3)];
  const isAllowed = (step.node.int('accuracy_level') || step.node.machine.accuracy) === INT8_LEVEL && layout.size % PART === 0;
  const isKnown = scales && (zeros || !isGiven(step.inputs[3]));
  return (isAllowed && isKnown ? quantised(layout, q, scales, zeros) : null) ?? whole(layout, q);
}

const matMulNBits: Op = {
  since: 1,
  run: (n, ...x) => {
    const layout = layoutOf(n, x[1]!);
    if (x[4] || !WIDTHS.includes(layout.bits)) {
      throw new sn.UnsupportedError('onnx', `${n.where}: g_idx, or numbers of ${layout.bits} bits, expected 2, 4 or 8 in the order of the columns`);
    }
    return whole(layout, numbersOf(layout, x[1]!.t)).run(n, ...x);
  },
  prepare: (step, weights) => {
    const codes = weights(1);
    if (!codes || isGiven(step.inputs[4])) return null;
    const layout = layoutOf(step.node, codes);
    if (!WIDTHS.includes(layout.bits) || codes.shape.join() !== [layout.rows, layout.blocks, (layout.size * layout.bits) / 8].join()) return null;
    return prepared(layout, numbersOf(layout, codes), step, weights);
  },
};

/**
 * One step for x times a DequantizeLinear of numbers (columns, rows) of the file, in blocks along the columns. If it can be
 * prepared, its result is that of both steps; otherwise it runs both.
 */
export function timesDequantized(dequantize: Step, multiply: Step): Step {
  const { node, op } = dequantize;
  const run: Op['run'] = (n, a, ...numbers) => multiply.op.run(n, a!, op.run(node, ...numbers) as Value);
  const prepare: Op['prepare'] = (step, weights) => {
    const [codes, scales, size] = [weights(1), weights(2), node.int('block_size')];
    const isSigned = codes?.dtype === 'int8';
    if (!codes?.size || codes.ndim !== 2 || !(isSigned || codes.dtype === 'uint8') || node.int('axis', 1) % 2 !== 0) return null;
    const [columns, rows] = codes.shape as [number, number];
    const blocks = Math.ceil(columns / size);
    if (scales?.shape.join() !== [blocks, rows].join()) return null;
    const wide = codes.astype('int32');
    const ends = [sn.min(wide), sn.max(wide)].map((t) => t.item() as number + (isSigned ? 8 : 0)) as [number, number];
    const bits = ends[0] >= 0 && ends[1] < 16 ? 4 : 8;
    const layout = { rows, columns, size, bits, blocks, middle: isSigned ? 0 : 2 ** (bits - 1), isTransposed: true };
    return prepared(layout, sn.pad(sn.transpose(wide), [[0, 0], [0, blocks * size - columns]]), step, weights);
  };
  return { ...multiply, op: { since: 1, form: node.form, run, prepare }, inputs: [multiply.inputs[0]!, ...dequantize.inputs] };
}

export const BLOCKS: Readonly<Record<string, Op>> = { 'com.microsoft.MatMulNBits': matMulNBits };
