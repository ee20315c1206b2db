// Whole trees as bytes: saveState and loadState. The file is in the format safetensors; its metadata has what the tensors
// alone do not say: the tree with its other values, a generation, and two checksums, of the elements and of the header.
//
// Invariant: the checksums come first in the metadata, so that their offsets are fixed (copying.ts). loadState makes no
// tensor before all of the file has been checked.

import { shown } from '../check.js';
import { SinterError, ShapeError, damagedError } from '../errors.js';
import { readOptions } from '../options.js';
import { flatten, leafPaths, rebuild, type TreeShape } from '../pytree.js';
import { runtime } from '../runtime/runtime.js';
import { loadTree, saveTree } from '../savedtree.js';
import { tidy } from '../scope.js';
import { wrap, type Tensor } from '../tensor.js';
import { GENERATION_AT, NO_CHECKSUMS, isIntact, sealHead } from './copying.js';
import { asBytes, checkStored } from './elements.js';
import { uniqueTensorPaths } from './paths.js';
import { fill, headBytesOf, layOut, readHeader, readTensor, type Header, type Layout, type Stored } from './tensorfile.js';

const FORMAT = 'sinter state 1';
const GENERATION_DIGITS = 12;

/* ---- writing ---- */

/** A shape with plain objects in the place of instances; loadState's `like` turns them into instances again. */
function plain(node: TreeShape): TreeShape {
  if (!('items' in node)) return node;
  const items = node.items.map(plain);
  return node.kind === 'instance' ? { kind: 'object', keys: node.keys, items } : { ...node, items };
}

const generationText = (generation: number): string => String(generation).padStart(GENERATION_DIGITS, '0');

/** The layout of a state's file; its elements and checksums are still to be written. */
export function layOutState(op: string, state: unknown): Layout {
  const { tensors, shape } = flatten(state, op);
  const tree = JSON.stringify(saveTree(op, plain(shape)));
  const metadata = { ...NO_CHECKSUMS, generation: generationText(0), format: FORMAT, tree };
  return layOut(uniqueTensorPaths(op, shape), tensors, metadata);
}

/** Writes a generation into the bytes of a state. */
export function setGeneration(bytes: Uint8Array, generation: number): void {
  const head = bytes.subarray(0, headBytesOf(bytes));
  head.set(new TextEncoder().encode(generationText(generation)), GENERATION_AT);
  sealHead(head);
}

/**
 * A tree as bytes: a training state, parameters, a place in the data, or any other arrays, plain objects, Maps and Sets of
 * tensors, numbers and other values. Any reader of safetensors can read the tensors. Computes what is lazy.
 */
export function saveState(state: unknown): Uint8Array<ArrayBuffer> {
  return fill('saveState', layOutState('saveState', state), true);
}

/* ---- reading ---- */

export interface StateReport {
  /** Paths in `like` that the file does not have: they keep the values of `like`. */
  missing: string[];
  /** Paths in the file that `like` does not have. */
  unexpected: string[];
  /** Tensors of another shape or dtype than in `like`, whose values they keep: 'layers.0.weight: float32 (2, 3),
   *  expected float32 (3, 2)'. */
  differing: string[];
}

export interface LoadStateOptions {
  /** Whether file and `like` must have the same tensors and values; default true. Otherwise what fits is loaded, and the
   *  rest reported. */
  strict?: boolean;
  /** Gets what did not fit, if strict is false; by default a warning is written to the console. */
  onReport?: (report: StateReport) => void;
}

interface StateFile extends Header {
  tree: TreeShape;
  generation: number;
}

/** Reads a file of saveState, and checks every byte of it. */
export function readState(op: string, bytes: Uint8Array): StateFile {
  const header = readHeader(op, bytes);
  const { format, generation, tree } = header.metadata;
  if (format !== FORMAT) {
    throw new SinterError('argument', op, 'these bytes are not of saveState', {
      hint: `${format === undefined ? 'safetensors.decode reads other files of safetensors' : `of the format ${shown(format)}`}`,
    });
  }
  if (!isIntact(bytes, bytes.length - header.data.length)) throw damagedError(op, 'the checksum is that of other bytes');
  if (!/^\d{12}$/.test(generation ?? '')) throw damagedError(op, 'there is no generation');
  let parsed: unknown;
  try {
    parsed = JSON.parse(tree ?? '');
  } catch {
    throw damagedError(op, 'the tree is not JSON');
  }
  return { ...header, tree: loadTree(op, parsed), generation: Number(generation) };
}

/** Where a leaf of the result comes from: a tensor of the file, a copy of like's tensor, or a static value. */
type Source = { stored: Stored } | { copied: Tensor } | { value: unknown };

const keyOf = ({ dtype, shape }: { dtype: string; shape: readonly number[] }): string => `${dtype} (${shape.join(', ')})`;

const textOf = (leaf: TreeShape, stored: Stored | undefined): string =>
  stored ? keyOf(stored) : leaf.kind === 'static' ? shown(leaf.value) : 'a tensor';

interface Match {
  shape: TreeShape;
  /** The source of each leaf. */
  sources: Source[];
  report: StateReport;
}

/** The tree of the file itself. */
function asSaved(op: string, { tree, tensors }: StateFile): Match {
  const stored = new Map(tensors.map((each) => [each.name, each]));
  const sources = leafPaths(tree).map(({ path, leaf }): Source => {
    if (leaf.kind === 'static') return { value: leaf.value };
    const found = stored.get(path);
    stored.delete(path);
    if (!found) throw damagedError(op, `the tree has a tensor ${shown(path)}, the file has none`);
    return { stored: found };
  });
  if (stored.size) throw damagedError(op, 'the file has tensors that are not in its tree');
  return { shape: tree, sources, report: { missing: [], unexpected: [], differing: [] } };
}

/** The source of each leaf of like, and what does not fit. */
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

/** A shape whose static values are leaves as well, for rebuild. */
const opened = (node: TreeShape): TreeShape =>
  'items' in node ? { ...node, items: node.items.map(opened) } : { kind: 'tensor' };

function make(op: string, data: Uint8Array, source: Source): unknown {
  if ('value' in source) return source.value;
  if ('stored' in source) return readTensor(op, data, source.stored);
  return wrap(runtime().exports.sinter_copy(source.copied.use(op)), source.copied.meta);
}

/**
 * The tree of saveState's bytes, with new tensors. With `like`, a tree of the same structure (step.init(params), say), the
 * result is a tree like it, instances of classes included, and whatever is missing, unexpected or of another size or dtype
 * is an error that lists it. Without `like` the structure is the one saved. Throws a SinterError for damaged bytes.
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
