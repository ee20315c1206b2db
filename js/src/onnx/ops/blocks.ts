// Products with a matrix of 2, 4 or 8 bits in blocks: an op of onnxruntime, and MatMul of what DequantizeLinear makes of a file's
// numbers. A scale s and a zero point z belong to each block of a row (of DequantizeLinear of a column, rows and columns turned):
//
//   y = x w',  w = (q - z) s
//
// A matrix of the file is laid out once, as the blocks of sinter.matmulBlocks and dequantizeBlocks: Q4_0 or Q8_0, whose numbers are
// q - c, c being the middle of their range. Where x may be quantised to 8 bits the blocks have the scales in them, and
//
//   y = x ((q - c) s)' + sums of x over each block ((c - z) s)'
//
// Else their scales are 1, and those of the file are parameters as other weights are.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Node, Op, Prepared, Step, Weights } from '../plan.js';
import { made, type Value } from '../value.js';

const { bytesOf } = sn.internals;

const WIDTHS = [2, 4, 8];
/** The accuracy_level that lets x be quantised. */
const INT8_LEVEL = 4;

/** Numbers of a block of Q4_0 and Q8_0. */
const PART = 32;
/** The share of a number that float16 may be off by. */
const HALF = 2 ** -11;

interface Form {
  rows: number;
  columns: number;
  /** Of a block, in numbers. */
  size: number;
  bits: number;
  /** Of a row. */
  blocks: number;
  /** c. */
  middle: number;
  /** Scales and zero points lie (blocks, rows), one each; else (rows, blocks), and bytes have several zero points. */
  isTurned: boolean;
}

function formOf(n: Node, b: { shape: readonly number[] }): Form {
  const bits = n.int('bits', 4);
  return { rows: n.int('N'), columns: n.int('K'), size: n.int('block_size'), bits, blocks: b.shape[1] ?? 0, middle: 2 ** (bits - 1), isTurned: false };
}

/** Numbers of so many bits in bytes, the lowest bits first: the last axis is as many times as long. */
function unpacked(t: Tensor, bits: number): Tensor {
  if (bits === 8) return t.astype('int32');
  const parts = Array.from({ length: 8 / bits }, (_, i) => sn.bitwiseAnd(sn.shiftRightLogical(t.astype('int32'), i * bits), 2 ** bits - 1));
  return sn.reshape(sn.stack(parts, { axis: -1 }), [...t.shape.slice(0, -1), -1]);
}

/** One of each block: (rows, blocks). */
const byBlocks = ({ rows, blocks, isTurned }: Form, t: Tensor): Tensor => (isTurned ? sn.transpose(t) : sn.reshape(t, [rows, blocks]));

/** z of each block; bytes have them packed, rows from whole bytes on. */
function zerosOf(f: Form, zeros: Tensor): Tensor {
  const { rows, blocks, bits, isTurned } = f;
  if (isTurned || zeros.dtype !== 'uint8') return byBlocks(f, zeros).astype('float32');
  return sn.slice(unpacked(sn.reshape(zeros, [rows, -1]), bits), [0, 0], [rows, blocks]).astype('float32');
}

/** c - z of each block; null: 0. Without zero points z is c, and of DequantizeLinear 0. */
function movesOf(f: Form, zeros: Tensor | undefined): Tensor | null {
  if (zeros) return sn.sub(f.middle, zerosOf(f, zeros));
  return f.isTurned && f.middle > 0 ? sn.full([f.rows, f.blocks], f.middle) : null;
}

const isGiven = (slot = -1): boolean => slot >= 0;

const withBias = (a: Value, y: Tensor, bias: Value | undefined): Value => made(a.type, bias ? sn.add(y, bias.t) : y);

const kindOf = ({ bits }: Form): 'Q4_0' | 'Q8_0' => (bits === 8 ? 'Q8_0' : 'Q4_0');

/** q (rows, all columns of the blocks) of codes (rows, blocks, bytes). */
const numbersOf = ({ rows, blocks, size, bits }: Form, codes: Tensor): Tensor => sn.reshape(unpacked(codes, bits), [rows, blocks * size]);

/** q as blocks, with the scale of each 32 numbers: two bytes, of float16. */
function laidOut({ rows, blocks, size, bits, middle }: Form, q: Tensor, scales: Tensor): Tensor {
  const numbers = sn.sub(q, middle);
  const parts = sn.reshape(sn.pad(numbers, [[0, 0], [0, -(blocks * size) & (PART - 1)]]), [rows, -1, PART]);
  const [low, high] = sn.split(sn.add(parts, 8), 2, { axis: -1 }) as [Tensor, Tensor];
  const bytes = sn.bitwiseAnd(bits === 8 ? parts : sn.add(low, sn.mul(high, 16)), 255).astype('uint8');
  return sn.reshape(sn.concat([scales, bytes], { axis: -1 }), [rows, -1]);
}

/** Where x is taken as it is. */
function whole(f: Form, q: Tensor): Prepared {
  const ones = sn.tensor([0, 0x3c], { dtype: 'uint8' }); // 1 in float16
  const blocks = laidOut(f, q, sn.broadcastTo(ones, [f.rows, Math.ceil((f.blocks * f.size) / PART), 2]));
  const run: Op['run'] = (_n, a, _b, scales, zeros, _o, bias) => {
    const numbers = sn.slice(sn.dequantizeBlocks(blocks, { kind: kindOf(f) }), [0, 0], [f.rows, f.blocks * f.size]);
    const inBlocks = sn.reshape(numbers, [f.rows, f.blocks, f.size]);
    const moves = movesOf(f, zeros?.t);
    const apart = moves ? sn.add(inBlocks, sn.expandDims(moves, -1)) : inBlocks;
    const w = sn.reshape(sn.mul(apart, sn.expandDims(byBlocks(f, scales!.t), -1)), [f.rows, f.blocks * f.size]);
    const y = sn.matmul(a!.t, sn.transpose(sn.slice(w, [0, 0], [f.rows, f.columns]).astype(a!.t.dtype)));
    return withBias(a!, y, bias);
  };
  return { run, behind: 2, tensors: [blocks] };
}

/** Where x may be quantised; null: float16 does not hold the scales, to its share of the largest of a row. */
function quantised(f: Form, q: Tensor, scales: Tensor, zeros: Tensor | undefined): Prepared | null {
  const exact = byBlocks(f, scales.astype('float32'));
  const halves = exact.astype('float16');
  const allowed = sn.mul(sn.max(sn.abs(exact), { axis: 1, keepdims: true }), HALF);
  const apart = sn.sub(sn.abs(sn.sub(exact, halves.astype('float32'))), allowed);
  if (!((sn.max(apart).dataSync()[0] as number) <= 0)) return null;
  const parts = f.size / PART;
  const bytes = bytesOf(sn.repeat(halves, parts, { axis: 1 }), 'onnx');
  const blocks = laidOut(f, q, sn.tensor(bytes, { shape: [f.rows, f.blocks * parts, 2] }));
  const moves = movesOf(f, zeros);
  const rest = moves && sn.transpose(sn.mul(moves, exact));
  const spare = f.blocks * f.size - f.columns;
  const run: Op['run'] = (_n, a, _b, _s, _z, _o, bias) => {
    const before = a!.shape.slice(0, -1);
    const x = spare === 0 ? a!.t.astype('float32') : sn.pad(a!.t.astype('float32'), [...before.map(() => [0, 0] as const), [0, spare]]);
    const y = sn.matmulBlocks(x, blocks, { kind: kindOf(f) });
    const sums = (): Tensor => sn.sum(sn.reshape(x, [...before, f.blocks, f.size]), { axis: -1 });
    return withBias(a!, rest ? sn.add(y, sn.matmul(sums(), rest)) : y, bias);
  };
  return { run, behind: 4, tensors: rest ? [blocks, rest] : [blocks] };
}

/** Of a step's other factor, q: as blocks, x quantised where that is allowed. */
function prepared(f: Form, q: Tensor, step: Step, weights: Weights): Prepared {
  const [scales, zeros] = [weights(2), weights(3)];
  const isAllowed = (step.node.int('accuracy_level') || step.node.machine.accuracy) === INT8_LEVEL && f.size % PART === 0;
  const isKnown = scales && (zeros || !isGiven(step.inputs[3]));
  return (isAllowed && isKnown ? quantised(f, q, scales, zeros) : null) ?? whole(f, q);
}

const matMulNBits: Op = {
  since: 1,
  run: (n, ...x) => {
    const f = formOf(n, x[1]!);
    if (x[4] || !WIDTHS.includes(f.bits)) {
      throw new sn.UnsupportedError('onnx', `${n.where}: g_idx, or numbers of ${f.bits} bits, expected 2, 4 or 8 in the order of the columns`);
    }
    return whole(f, numbersOf(f, x[1]!.t)).run(n, ...x);
  },
  prepare: (step, weights) => {
    const codes = weights(1);
    if (!codes || isGiven(step.inputs[4])) return null;
    const f = formOf(step.node, codes);
    if (!WIDTHS.includes(f.bits) || codes.shape.join() !== [f.rows, f.blocks, (f.size * f.bits) / 8].join()) return null;
    return prepared(f, numbersOf(f, codes), step, weights);
  },
};

/**
 * x times what a DequantizeLinear makes of numbers (columns, rows) of the file, in blocks along the columns. Where it is
 * prepared it has the values of both; else it is both.
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
    const f = { rows, columns, size, bits, blocks, middle: isSigned ? 0 : 2 ** (bits - 1), isTurned: true };
    return prepared(f, sn.pad(sn.transpose(wide), [[0, 0], [0, blocks * size - columns]]), step, weights);
  };
  return { ...multiply, op: { since: 1, form: node.form, run, prepare }, inputs: [multiply.inputs[0]!, ...dequantize.inputs] };
}

export const BLOCKS: Readonly<Record<string, Op>> = { 'com.microsoft.MatMulNBits': matMulNBits };
