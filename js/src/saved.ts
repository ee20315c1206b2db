// Compiled functions as bytes: f.save(...args) and load(bytes). The core saves the program (sn_program_save); the trees of
// its arguments and its result are added here as the program's note, in JSON.
//
// What is loaded is not trusted: the trees must be trees, and have as many tensors as the program. All shapes and dtypes
// come from the core's part of the bytes.

import { SinterError, UnsupportedError, damagedError } from './errors.js';
import { flatten, rebuild, shapeKey, tensorCount, type TreeShape } from './pytree.js';
import { Program, type LoadedProgram } from './program.js';
import { loadTree, saveTree } from './savedtree.js';
import { isTracing } from './trace.js';
import { Tensor } from './tensor.js';
import { tensor } from './creation.js';

interface Note {
  args: TreeShape;
  result: TreeShape;
  /** For each tensor among the arguments, whether a call uses it up. */
  donated: boolean[];
}

/** A compiled function that was loaded. */
export interface Loaded<A extends readonly unknown[] = unknown[], R = unknown> {
  /** Arguments must have the structure, shapes, dtypes and static values that it was saved with. */
  (...args: A): R;
  /** Releases the program; calls then fail. */
  dispose(): void;
}

const list = (n: number): TreeShape => ({ kind: 'array', items: new Array<TreeShape>(n).fill({ kind: 'tensor' }) });

/** The note's trees. A program saved in C has none: its function takes and returns lists of tensors. */
function loadNote(text: string, inputs: number, outputs: number): Note {
  if (text === '') return { args: list(inputs), result: list(outputs), donated: new Array<boolean>(inputs).fill(false) };
  const { args, result, donated } = parseNote('load', text);
  if (!Array.isArray(donated)) throw damagedError('load', 'there are no trees');
  return { args: loadTree('load', args), result: loadTree('load', result), donated: donated.map(Boolean) };
}

/* ---- both directions ---- */

/** The bytes of a compiled function. */
export function saveProgram(program: Program, { args, result, donated }: Note): Uint8Array<ArrayBuffer> {
  return program.save(JSON.stringify({ args: saveTree('save', args), result: saveTree('save', result), donated }));
}

const collected = new FinalizationRegistry<Program>((program) => program.release());

/** Loads the program of these bytes, and returns what read makes of it; releases it if read throws. */
export function readProgram<T>(op: string, bytes: Uint8Array | ArrayBuffer, read: (loaded: LoadedProgram) => T): T {
  const whole = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
  if (!(whole instanceof Uint8Array)) throw new SinterError('argument', op, 'expected a Uint8Array of what was saved');
  const held = tensor(whole, { dtype: 'uint8', shape: [whole.length] });
  try {
    const loaded = Program.load(held);
    try {
      return read(loaded);
    } catch (error) {
      loaded.program.release();
      throw error;
    }
  } finally {
    held.dispose();
  }
}

/** A program's note, which has to be an object in JSON. */
export function parseNote(op: string, text: string): Record<string, unknown> {
  let saved: unknown;
  try {
    saved = JSON.parse(text);
  } catch {
    throw damagedError(op, 'the trees are not JSON');
  }
  if (typeof saved !== 'object' || saved === null) throw damagedError(op, 'there are no trees');
  return saved as Record<string, unknown>;
}

function readFunction({ program, note: text, inputs, outputs, states }: LoadedProgram): { program: Program; note: Note } {
  if (states !== null)
    throw new SinterError('argument', 'load', 'these bytes are a training step', { hint: 'sn.importStep(bytes) loads it' });
  const note = loadNote(text, inputs, outputs);
  if (tensorCount(note.args) === inputs && tensorCount(note.result) === outputs && note.donated.length === inputs)
    return { program, note };
  throw damagedError('load', 'the trees are those of another program');
}

/**
 * The function that f.save(...) has saved, in this process or another one. Nothing is traced, and no pass runs. In the same
 * numeric mode its results have the same bits. Throws a SinterError for bytes that are damaged, or of another version of
 * Sinter.
 */
export function load<A extends readonly unknown[] = unknown[], R = unknown>(bytes: Uint8Array | ArrayBuffer): Loaded<A, R> {
  const { program, note } = readProgram('load', bytes, readFunction);
  const structure = shapeKey(note.args);

  const call = (...args: A): R => {
    if (isTracing())
      throw new UnsupportedError('load', 'a loaded function cannot be part of another one that is traced');
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
