// Whole trees as bytes: saveState and loadState. A file is one of safetensors, whose metadata has what its tensors alone
// do not say: the tree with its other values, a generation, and a checksum of every byte.
//
// Invariant: the checksum comes first in the metadata, so that its place is known; it is that of the file with zeros
// there. loadState makes no tensor before all of the file has been checked.

import { shown } from '../check.js';
import { SinterError, ShapeError } from '../errors.js';
import { readOptions } from '../options.js';
import { flatten, rebuild, type TreeShape } from '../pytree.js';
import { runtime } from '../runtime/runtime.js';
import { loadTree, saveTree } from '../savedtree.js';
import { tidy } from '../scope.js';
import { wrap, type Tensor } from '../tensor.js';
import { checksum } from './checksum.js';
import { asBytes, checkStored, damaged } from './elements.js';
import { leafPaths, tensorPaths } from './paths.js';
import { fill, layOut, readHeader, readTensor, type Header, type Layout, type Stored } from './tensorfile.js';

const FORMAT = 'sinter state 1';
/** Where the eight digits of the checksum are. */
const CHECKSUM_AT = 8 + '{"__metadata__":{"checksum":"'.length;

/* ---- writing ---- */

/** Instances of classes as plain objects, which loadState's `like` makes instances again. */
function plain(node: TreeShape): TreeShape {
  if (!('items' in node)) return node;
  const items = node.items.map(plain);
  return node.kind === 'instance' ? { kind: 'object', keys: node.keys, items } : { ...node, items };
}

/** A state's file without its elements and its checksum. */
export function layOutState(op: string, state: unknown, generation: number): Layout {
  const { tensors, shape } = flatten(state, op);
  const tree = JSON.stringify(saveTree(op, plain(shape)));
  const metadata = { checksum: '00000000', format: FORMAT, generation: String(generation), tree };
  return layOut(tensorPaths(op, shape), tensors, metadata);
}

/** The checksum of a file, whatever stands in its place: first of the elements, then of the header. */
function checksumOf(bytes: Uint8Array, headBytes: number): string {
  const head = bytes.slice(0, headBytes).fill(0x30, CHECKSUM_AT, CHECKSUM_AT + 8);
  return checksum(head, checksum(bytes.subarray(headBytes))).toString(16).padStart(8, '0');
}

/** Writes the checksum into a file that has all else. */
export function seal<B extends Uint8Array>(bytes: B, headBytes: number): B {
  bytes.set(new TextEncoder().encode(checksumOf(bytes, headBytes)), CHECKSUM_AT);
  return bytes;
}

/**
 * A tree as bytes: a training state, parameters, a place in the data, anything of tensors in arrays, plain objects, Maps
 * and Sets, with numbers and other values beside them. Any reader of safetensors can read the tensors. Computes what is
 * lazy.
 */
export function saveState(state: unknown): Uint8Array<ArrayBuffer> {
  const layout = layOutState('saveState', state, 0);
  return seal(fill('saveState', layout), layout.head.length);
}

/* ---- reading ---- */

export interface StateReport {
  /** Places in `like` that the file has not: they keep the values of `like`. */
  missing: string[];
  /** Places in the file that `like` has not. */
  unexpected: string[];
  /** Of another shape or dtype than in `like`, whose values they keep: 'layers.0.weight: float32 (2, 3), expected float32 (3, 2)'. */
  differing: string[];
}

export interface LoadStateOptions {
  /** Whether all has to be where `like` has it; default true. Otherwise what fits is loaded, and the rest is reported. */
  strict?: boolean;
  /** Gets what did not fit where strict is false; by default a warning is written to the console. */
  onReport?: (report: StateReport) => void;
}

interface StateFile extends Header {
  tree: TreeShape;
  generation: number;
}

/** What is in a file of saveState, with every byte of it checked. */
export function readState(op: string, bytes: Uint8Array): StateFile {
  const header = readHeader(op, bytes);
  const { format, checksum: written, generation, tree } = header.metadata;
  if (format !== FORMAT) {
    throw new SinterError('argument', op, 'these bytes are not of saveState', {
      hint: `${format === undefined ? 'safetensors.decode reads other files of safetensors' : `of the format ${shown(format)}`}`,
    });
  }
  const headBytes = bytes.length - header.data.length;
  const found = String.fromCharCode(...bytes.subarray(CHECKSUM_AT, CHECKSUM_AT + 8));
  if (found !== written || found !== checksumOf(bytes, headBytes)) throw damaged(op, 'the checksum is that of other bytes');
  if (!/^\d{1,15}$/.test(generation ?? '')) throw damaged(op, 'there is no generation');
  let parsed: unknown;
  try {
    parsed = JSON.parse(tree ?? '');
  } catch {
    throw damaged(op, 'the tree is not JSON');
  }
  return { ...header, tree: loadTree(op, parsed), generation: Number(generation) };
}

/** A tensor of the file, a copy of like's, or a value: what stands in a place of the result. */
type Source = { stored: Stored } | { copied: Tensor } | { value: unknown };

const keyOf = ({ dtype, shape }: { dtype: string; shape: readonly number[] }): string => `${dtype} (${shape.join(', ')})`;

const textOf = (leaf: TreeShape, stored: Stored | undefined): string =>
  stored ? keyOf(stored) : leaf.kind === 'static' ? shown(leaf.value) : 'a tensor';

interface Match {
  shape: TreeShape;
  /** Of each leaf. */
  sources: Source[];
  report: StateReport;
}

/** The tree that the file has itself. */
function asSaved(op: string, { tree, tensors }: StateFile): Match {
  const stored = new Map(tensors.map((each) => [each.name, each]));
  const sources = leafPaths(tree).map(({ path, leaf }): Source => {
    if (leaf.kind === 'static') return { value: leaf.value };
    const found = stored.get(path);
    stored.delete(path);
    if (!found) throw damaged(op, `the tree has a tensor ${shown(path)}, the file has none`);
    return { stored: found };
  });
  if (stored.size) throw damaged(op, 'the file has tensors that are not in its tree');
  return { shape: tree, sources, report: { missing: [], unexpected: [], differing: [] } };
}

/** Where each leaf of like comes from, and what does not fit. */
function match(op: string, file: StateFile, like: unknown): Match {
  const stored = new Map(file.tensors.map((each) => [each.name, each]));
  const saved = new Map(leafPaths(file.tree).map(({ path, leaf }) => [path, leaf]));
  const { tensors, shape } = flatten(like, op);
  const report: StateReport = { missing: [], unexpected: [], differing: [] };
  let next = 0;
  const sources = leafPaths(shape).map(({ path, leaf }): Source => {
    const own: Source = leaf.kind === 'tensor' ? { copied: tensors[next++]! } : { value: (leaf as { value: unknown }).value };
    const theirs = saved.get(path);
    saved.delete(path);
    if (!theirs) report.missing.push(path);
    else if (theirs.kind === 'static' && leaf.kind === 'static') return { value: theirs.value };
    else {
      const found = theirs.kind === 'tensor' ? stored.get(path) : undefined;
      const wanted = 'copied' in own ? keyOf(own.copied) : textOf(leaf, undefined);
      if (found && keyOf(found) === wanted) return { stored: found };
      report.differing.push(`${path}: ${textOf(theirs, found)}, expected ${wanted}`);
    }
    return own;
  });
  report.unexpected.push(...saved.keys());
  return { shape, sources, report };
}

const LISTED = 8;
const listed = (what: string, names: readonly string[]): string[] =>
  names.length ? [`${what}: ${names.slice(0, LISTED).join(', ')}${names.length > LISTED ? ` and ${names.length - LISTED} more` : ''}`] : [];

const reportText = ({ missing, unexpected, differing }: StateReport): string =>
  [...listed('missing', missing), ...listed('unexpected', unexpected), ...listed('of another size or kind', differing)].join('; ');

function refuse(op: string, report: StateReport): never {
  const hint = '{ strict: false } loads what fits';
  if (report.differing.length) throw new ShapeError(op, reportText(report), { hint });
  throw new SinterError('argument', op, reportText(report), { hint });
}

/** A shape whose values are leaves as well, for rebuild. */
const opened = (node: TreeShape): TreeShape =>
  'items' in node ? { ...node, items: node.items.map(opened) } : { kind: 'tensor' };

function make(op: string, data: Uint8Array, source: Source): unknown {
  if ('value' in source) return source.value;
  if ('stored' in source) return readTensor(op, data, source.stored);
  return wrap(runtime().exports.sinter_copy(source.copied.use(op)), source.copied.meta);
}

/**
 * The tree of saveState's bytes, with new tensors. Given `like`, a tree of the same structure (step.init(params), say),
 * the result is one like it, instances of classes included, and whatever is missing, unexpected or of another size is
 * an error that lists it; without, the structure is the one saved. Damaged bytes are a SinterError.
 */
export function loadState<T = unknown>(bytes: Uint8Array | ArrayBuffer, like?: T, options?: LoadStateOptions): T {
  const op = 'loadState';
  const { strict = true, onReport } = readOptions<LoadStateOptions>(op, options, { strict: 'boolean', onReport: 'function' });
  const file = readState(op, asBytes(op, bytes));
  for (const { name, dtype, shape } of file.tensors) checkStored(op, shown(name), dtype, shape, false);
  return build(op, file, like, strict, onReport) as T;
}

function build(op: string, file: StateFile, like: unknown, strict: boolean, onReport: LoadStateOptions['onReport']): unknown {
  const { shape, sources, report } = like === undefined ? asSaved(op, file) : match(op, file, like);
  const text = reportText(report);
  if (text && strict) refuse(op, report);
  const made = tidy(() => rebuild(opened(shape), sources.map((source) => make(op, file.data, source))));
  if (!text) return made;
  if (onReport) onReport(report);
  else console.warn(`sinter: ${op}: ${text}`);
  return made;
}
