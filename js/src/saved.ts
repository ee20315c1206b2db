// Compiled functions as bytes: f.save(...args) and load(bytes). The core has the program (sn_program_save); here are the
// trees of its arguments and its result, which go along as the program's note, in JSON.
//
// What is loaded is not trusted: the trees must be trees, and have as many tensors as the program; all shapes and
// dtypes are the core's own.

import { SinterError } from './errors.js';
import { flatten, rebuild, shapeKey, tensorCount, type TreeShape } from './pytree.js';
import { Program } from './program.js';
import { isTracing } from './trace.js';
import { Tensor } from './tensor.js';
import { tensor } from './creation.js';

interface Note {
  args: TreeShape;
  result: TreeShape;
  /** Per tensor among the arguments: whether a call uses it up. */
  donated: boolean[];
}

/** A compiled function that was loaded. */
export interface Loaded<A extends readonly unknown[] = unknown[], R = unknown> {
  /** Arguments have the structure, the shapes and dtypes and the static values it was saved with. */
  (...args: A): R;
  /** Releases the program; calls then fail. */
  dispose(): void;
}

const MAX_DEPTH = 200;

const damaged = (why: string): SinterError => new SinterError('argument', 'load', `damaged: ${why}`);

/* ---- values that are no tensors: JSON has no undefined, no NaN, no -0 ---- */

type Saved = [kind: 'null' | 'undefined'] | [kind: 'boolean' | 'number' | 'string' | 'bigint', text: string];

function saveValue(value: unknown): Saved {
  if (value === null) return ['null'];
  switch (typeof value) {
    case 'undefined':
      return ['undefined'];
    case 'number':
      return ['number', Object.is(value, -0) ? '-0' : String(value)];
    case 'boolean':
    case 'string':
    case 'bigint':
      return [typeof value as 'string', String(value)];
    default:
      throw new SinterError('argument', 'save', `a ${typeof value} among the arguments or results cannot be saved`);
  }
}

function loadValue(saved: unknown): unknown {
  const [kind, text = ''] = Array.isArray(saved) ? (saved as unknown[]) : [];
  if (typeof text !== 'string') throw damaged('a value is not one');
  switch (kind) {
    case 'null':
      return null;
    case 'undefined':
      return undefined;
    case 'boolean':
      return text === 'true';
    case 'number':
      return Number(text);
    case 'string':
      return text;
    case 'bigint':
      if (/^-?\d{1,1000}$/.test(text)) return BigInt(text);
  }
  throw damaged('a value is not one');
}

/* ---- trees ---- */

type Plain = { kind: string; value?: Saved; keys?: unknown[]; items?: Plain[] };

function saveTree(node: TreeShape): Plain {
  switch (node.kind) {
    case 'tensor':
      return { kind: node.kind };
    case 'static':
      return { kind: node.kind, value: saveValue(node.value) };
    case 'object':
      return { kind: node.kind, keys: node.keys, items: node.items.map(saveTree) };
    case 'map':
      return { kind: node.kind, keys: node.keys.map(saveValue), items: node.items.map(saveTree) };
    case 'array':
    case 'set':
      return { kind: node.kind, items: node.items.map(saveTree) };
    case 'instance':
      throw new SinterError('argument', 'save', 'an instance of a class cannot be saved', {
        hint: 'its class may be another one where it is loaded; use a plain object',
      });
  }
}

function loadTree(saved: unknown, depth = 0): TreeShape {
  if (typeof saved !== 'object' || saved === null || depth > MAX_DEPTH) throw damaged('a tree is not one');
  const { kind, value, keys, items } = saved as Partial<Plain>;
  if (kind === 'tensor') return { kind };
  if (kind === 'static') return { kind, value: loadValue(value) };
  if (!Array.isArray(items)) throw damaged('a tree is not one');
  const inner = items.map((item) => loadTree(item, depth + 1));
  if (kind === 'array' || kind === 'set') return { kind, items: inner };
  if (!Array.isArray(keys) || keys.length !== inner.length) throw damaged('a tree is not one');
  if (kind === 'map') return { kind, keys: keys.map(loadValue), items: inner };
  if (kind === 'object' && keys.every((key) => typeof key === 'string')) return { kind, keys, items: inner };
  throw damaged('a tree is not one');
}

const list = (n: number): TreeShape => ({ kind: 'array', items: new Array<TreeShape>(n).fill({ kind: 'tensor' }) });

/** A program saved in C has no trees: its function takes and gives lists of tensors. */
function loadNote(text: string, inputs: number, outputs: number): Note {
  if (text === '') return { args: list(inputs), result: list(outputs), donated: new Array<boolean>(inputs).fill(false) };
  let saved: unknown;
  try {
    saved = JSON.parse(text);
  } catch {
    throw damaged('the trees are not JSON');
  }
  if (typeof saved !== 'object' || saved === null) throw damaged('there are no trees');
  const { args, result, donated } = saved as Record<string, unknown>;
  if (!Array.isArray(donated)) throw damaged('there are no trees');
  return { args: loadTree(args), result: loadTree(result), donated: donated.map(Boolean) };
}

/* ---- both directions ---- */

/** The bytes of a compiled function. */
export function saveProgram(program: Program, { args, result, donated }: Note): Uint8Array<ArrayBuffer> {
  return program.save(JSON.stringify({ args: saveTree(args), result: saveTree(result), donated }));
}

const collected = new FinalizationRegistry<Program>((program) => program.release());

function loadProgram(bytes: Uint8Array): { program: Program; note: Note } {
  const held = tensor(bytes, { dtype: 'uint8', shape: [bytes.length] });
  try {
    const { program, note: text, inputs, outputs } = Program.load(held);
    try {
      const note = loadNote(text, inputs, outputs);
      if (tensorCount(note.args) === inputs && tensorCount(note.result) === outputs && note.donated.length === inputs)
        return { program, note };
      throw damaged('the trees are those of another program');
    } catch (error) {
      program.release();
      throw error;
    }
  } finally {
    held.dispose();
  }
}

/**
 * The function that f.save(...) has saved, in this process or another one: nothing is traced, and no pass runs. In the
 * same numeric mode its results have the same bits. Bytes that are damaged, or of another version of Sinter, are a
 * SinterError.
 */
export function load<A extends readonly unknown[] = unknown[], R = unknown>(bytes: Uint8Array | ArrayBuffer): Loaded<A, R> {
  const whole = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  if (!(whole instanceof Uint8Array)) throw new SinterError('argument', 'load', 'expected a Uint8Array of what save() gave');
  const { program, note } = loadProgram(whole);
  const structure = shapeKey(note.args);

  const call = (...args: A): R => {
    if (isTracing())
      throw new SinterError('unsupported', 'load', 'a loaded function cannot be part of another one that is traced');
    const { tensors, shape } = flatten(args, 'load');
    if (shapeKey(shape) !== structure)
      throw new SinterError('argument', 'load', 'the arguments differ in structure or static values from the saved ones');
    const outputs = program.run(tensors);
    tensors.forEach((t: Tensor, i) => note.donated[i] && t.donated());
    return rebuild(note.result, outputs) as R;
  };
  const loaded = Object.defineProperties(call, { dispose: { value: () => program.release() } }) as Loaded<A, R>;
  collected.register(loaded, program);
  return loaded;
}
