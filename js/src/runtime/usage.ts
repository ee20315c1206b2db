// What takes the memory, said when there is no more of it: an OutOfMemoryError carries it as its hint.

import { dtypeFromNumber } from '../dtype.js';
import { shapeText } from '../errors.js';
import type { Runtime } from './runtime.js';

/** So many kinds of tensors are named. */
const KINDS = 4;
/** Words of a kind in the scratch block: count, bytes, dtype, rank, dims. */
const KIND_WORDS = 12;

/** 401.4 MB. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; unit++) bytes /= 1000;
  return `${unit === 0 ? bytes : bytes.toFixed(bytes < 100 ? 1 : 0)} ${units[unit]!}`;
}

/** The kinds of tensors that take most: 10658 x float32 (128, 784) = 4.3 GB. */
function largestKinds(rt: Runtime): string[] {
  rt.scratch(KINDS * KIND_WORDS);
  const found = rt.exports.sinter_largest_kinds(KINDS);
  return Array.from({ length: found }, (_, i) => {
    const [count, bytes, dtype, rank, ...dims] = rt.receive(i * KIND_WORDS, KIND_WORDS) as [
      number,
      number,
      number,
      number,
      ...number[],
    ];
    const kind = `${dtypeFromNumber(dtype)} ${shapeText(dims.slice(0, rank))}`;
    return `${count >>> 0} x ${kind} = ${bytesText(bytes >>> 0)}`;
  });
}

/** What is held, and what to do about it. */
export function memoryHint(rt: Runtime): string {
  rt.exports.sinter_memory();
  const [inUse, peak] = rt.receive(0, 2).map((word) => word >>> 0) as [number, number];
  const kinds = largestKinds(rt);
  const held = kinds.length ? `; most is held by ${kinds.join(', ')}` : '';
  return (
    `in use ${bytesText(inUse)}, at most so far ${bytesText(peak)}, limit ${bytesText(rt.memoryLimit)}${held}; ` +
    'dispose of tensors that are done with (dispose, tidy, scope), use smaller batches, or raise init({ maxMemory }); ' +
    'the garbage collector helps only a program that awaits something now and then, such as data()'
  );
}
