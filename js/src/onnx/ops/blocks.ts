// Products with a matrix of 2, 4 or 8 bits in blocks, an op of onnxruntime. A scale s and a zero point z belong to each block of a row:
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
import type { Node, Op, Prepared } from '../plan.js';
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
}

function formOf(n: Node, b: { shape: readonly number[] }): Form {
  const bits = n.int('bits', 4);
  return { rows: n.int('N'), columns: n.int('K'), size: n.int('block_size'), bits, blocks: b.shape[1] ?? 0, middle: 2 ** (bits - 1) };
}

/** Numbers of so many bits in bytes, the lowest bits first: the last axis is as many times as long. */
function unpacked(t: Tensor, bits: number): Tensor {
  if (bits === 8) return t.astype('int32');
  const parts = Array.from({ length: 8 / bits }, (_, i) => sn.bitwiseAnd(sn.shiftRightLogical(t.astype('int32'), i * bits), 2 ** bits - 1));
  return sn.reshape(sn.stack(parts, { axis: -1 }), [...t.shape.slice(0, -1), -1]);
}

/** z of each block; bytes have them packed, rows from whole bytes on. */
function zerosOf({ rows, blocks, bits }: Form, zeros: Tensor): Tensor {
  if (zeros.dtype !== 'uint8') return sn.reshape(zeros, [rows, blocks]);
  return sn.slice(unpacked(sn.reshape(zeros, [rows, -1]), bits), [0, 0], [rows, blocks]).astype('float32');
}

const isGiven = (slot = -1): boolean => slot >= 0;

const withBias = (a: Value, y: Tensor, bias: Value | undefined): Value => made(a.type, bias ? sn.add(y, bias.t) : y);

const kindOf = ({ bits }: Form): 'Q4_0' | 'Q8_0' => (bits === 8 ? 'Q8_0' : 'Q4_0');

/** Codes (rows, blocks, bytes) as blocks, with the scale of each 32 numbers: two bytes, of float16. */
function laidOut({ rows, blocks, size, bits, middle }: Form, codes: Tensor, scales: Tensor): Tensor {
  const numbers = sn.sub(sn.reshape(unpacked(codes, bits), [rows, blocks * size]), middle);
  const parts = sn.reshape(sn.pad(numbers, [[0, 0], [0, -(blocks * size) & (PART - 1)]]), [rows, -1, PART]);
  const [low, high] = sn.split(sn.add(parts, 8), 2, { axis: -1 }) as [Tensor, Tensor];
  const bytes = sn.bitwiseAnd(bits === 8 ? parts : sn.add(low, sn.mul(high, 16)), 255).astype('uint8');
  return sn.reshape(sn.concat([scales, bytes], { axis: -1 }), [rows, -1]);
}

/** Where x is taken as it is. */
function whole(f: Form, codes: Tensor): Prepared {
  const ones = sn.tensor([0, 0x3c], { dtype: 'uint8' }); // 1 in float16
  const blocks = laidOut(f, codes, sn.broadcastTo(ones, [f.rows, Math.ceil((f.blocks * f.size) / PART), 2]));
  const perBlock = (t: Tensor): Tensor => sn.reshape(t, [f.rows, f.blocks, 1]);
  const run: Op['run'] = (_n, a, _b, scales, zeros, _o, bias) => {
    const numbers = sn.slice(sn.dequantizeBlocks(blocks, { kind: kindOf(f) }), [0, 0], [f.rows, f.blocks * f.size]);
    const inBlocks = sn.reshape(numbers, [f.rows, f.blocks, f.size]);
    const apart = zeros ? sn.add(inBlocks, sn.sub(f.middle, perBlock(zerosOf(f, zeros.t)))) : inBlocks;
    const w = sn.reshape(sn.mul(apart, perBlock(scales!.t)), [f.rows, f.blocks * f.size]);
    const y = sn.matmul(a!.t, sn.transpose(sn.slice(w, [0, 0], [f.rows, f.columns]).astype(a!.t.dtype)));
    return withBias(a!, y, bias);
  };
  return { run, behind: 2, tensors: [blocks] };
}

/** Where x may be quantised; null: float16 does not hold the scales, to its share of the largest of a row. */
function quantised(f: Form, codes: Tensor, scales: Tensor, zeros: Tensor | undefined): Prepared | null {
  const exact = sn.reshape(scales.astype('float32'), [f.rows, f.blocks]);
  const halves = exact.astype('float16');
  const allowed = sn.mul(sn.max(sn.abs(exact), { axis: 1, keepdims: true }), HALF);
  const apart = sn.sub(sn.abs(sn.sub(exact, halves.astype('float32'))), allowed);
  if (!((sn.max(apart).dataSync()[0] as number) <= 0)) return null;
  const parts = f.size / PART;
  const bytes = bytesOf(sn.repeat(halves, parts, { axis: 1 }), 'onnx');
  const blocks = laidOut(f, codes, sn.tensor(bytes, { shape: [f.rows, f.blocks * parts, 2] }));
  const rest = zeros ? sn.transpose(sn.mul(sn.sub(f.middle, zerosOf(f, zeros)), exact)) : null;
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

const matMulNBits: Op = {
  since: 1,
  run: (n, ...x) => {
    const f = formOf(n, x[1]!);
    if (x[4] || !WIDTHS.includes(f.bits)) {
      throw new sn.UnsupportedError('onnx', `${n.where}: g_idx, or numbers of ${f.bits} bits, expected 2, 4 or 8 in the order of the columns`);
    }
    return whole(f, x[1]!.t).run(n, ...x);
  },
  prepare: ({ node, inputs }, weights) => {
    const [codes, scales, zeros] = [weights(1), weights(2), weights(3)];
    if (!codes || isGiven(inputs[4])) return null;
    const f = formOf(node, codes);
    if (!WIDTHS.includes(f.bits) || codes.shape.join() !== [f.rows, f.blocks, (f.size * f.bits) / 8].join()) return null;
    const isQuantised = (node.int('accuracy_level') || node.machine.accuracy) === INT8_LEVEL && f.size % PART === 0;
    const isKnown = scales && (zeros || !isGiven(inputs[3]));
    return (isQuantised && isKnown ? quantised(f, codes, scales, zeros) : null) ?? whole(f, codes);
  },
};

export const BLOCKS: Readonly<Record<string, Op>> = { 'com.microsoft.MatMulNBits': matMulNBits };
