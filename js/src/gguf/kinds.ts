// The kinds of elements in GGUF: plain numbers, and blocks of quantised numbers. Also which kinds are dtypes of Sinter.

import type { DType } from '../index.js';

/** The name of a kind: 'float32', or the format's name, e.g. 'Q4_K'. */
export type KindName = keyof typeof KINDS;

/** Number in the file, elements per block, bytes per block. */
const KINDS = {
  float32: [0, 1, 4],
  float16: [1, 1, 2],
  Q4_0: [2, 32, 18],
  Q4_1: [3, 32, 20],
  Q5_0: [6, 32, 22],
  Q5_1: [7, 32, 24],
  Q8_0: [8, 32, 34],
  Q8_1: [9, 32, 36],
  Q2_K: [10, 256, 84],
  Q3_K: [11, 256, 110],
  Q4_K: [12, 256, 144],
  Q5_K: [13, 256, 176],
  Q6_K: [14, 256, 210],
  Q8_K: [15, 256, 292],
  IQ2_XXS: [16, 256, 66],
  IQ2_XS: [17, 256, 74],
  IQ3_XXS: [18, 256, 98],
  IQ1_S: [19, 256, 50],
  IQ4_NL: [20, 32, 18],
  IQ3_S: [21, 256, 110],
  IQ2_S: [22, 256, 82],
  IQ4_XS: [23, 256, 136],
  int8: [24, 1, 1],
  int16: [25, 1, 2],
  int32: [26, 1, 4],
  int64: [27, 1, 8],
  float64: [28, 1, 8],
  IQ1_M: [29, 256, 56],
  bfloat16: [30, 1, 2],
  TQ1_0: [34, 256, 54],
  TQ2_0: [35, 256, 66],
  MXFP4: [39, 32, 17],
  NVFP4: [40, 64, 36],
  Q1_0: [41, 128, 18],
  Q2_0: [42, 64, 18],
} as const satisfies Record<string, readonly [number, number, number]>;

export interface Kind {
  name: KindName;
  number: number;
  /** Elements per block, consecutive along a row; 1 for plain numbers. */
  block: number;
  /** Bytes per block. */
  bytes: number;
}

const ALL: readonly Kind[] = Object.entries(KINDS).map(([name, [number, block, bytes]]) => ({ name: name as KindName, number, block, bytes }));

export const kindOfNumber: ReadonlyMap<number, Kind> = new Map(ALL.map((kind) => [kind.number, kind]));
export const kindOfName: ReadonlyMap<string, Kind> = new Map(ALL.map((kind) => [kind.name, kind]));

/** Kinds that are dtypes of Sinter. */
export const DTYPES: readonly string[] = ['float32', 'float16', 'bfloat16', 'float64', 'int8', 'int32'] satisfies DType[];
