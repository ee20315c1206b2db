// Links one module from a program that is ready to run: the functions of the core that its run can reach, the code that was
// emitted for it, and the memory as it is.
//
//   functions   [ those of the core that are called | those of the emitted modules ]
//   table       the places that are called by a pointer, where they were
//   memory      [ stack | data of the core | objects of the program | buffers ]
//
// Invariant: addresses, types of the core and places in the table stay what they were, so nothing in memory has to be
// rewritten. A place that nobody calls is empty: a call of it traps, and never does something else.

import { Writer } from './bytes.js';
import type { Emitted } from './instance.js';
import { readModule, type FunctionBody, type Module } from './module.js';

const PAGE = 65536;
const UNREACHABLE = new Uint8Array([0, 0x00, 0x0b]);

/** A function of the new module. */
interface Linked {
  readonly type: number;
  readonly bytes: Uint8Array;
}

export interface Piece {
  readonly address: number;
  readonly bytes: Uint8Array;
}

export interface Program {
  readonly core: Module;
  readonly emitted: readonly Emitted[];
  /** Number of the core's function that does a run. */
  readonly run: number;
  /** Places in the table of the core's functions that are called by a pointer. */
  readonly called: ReadonlySet<number>;
  readonly pieces: readonly Piece[];
  /** The size of the memory in bytes. */
  readonly bytes: number;
  /** Text of the section "sinter". */
  readonly description: string;
}

/** The numbers of all functions of the core that run and called lead to, in ascending order. */
function reachedFunctions({ core, run, called }: Program): number[] {
  const found = new Set<number>([run, ...[...called].map((place) => core.table.get(place)!)]);
  // A loop over a set also visits what is added on the way.
  for (const number of found)
    for (const relocation of core.functions[number - core.imported.length]?.relocations ?? [])
      if (relocation.kind === 'function') found.add(relocation.number);
  return [...found].sort((a, b) => a - b);
}

/** A copy of a body with other numbers of functions and types. */
function renumbered({ bytes, relocations }: FunctionBody, functions: (number: number) => number, types: (number: number) => number): Uint8Array {
  const out = new Writer();
  let from = 0;
  for (const { at, length, kind, number } of relocations) {
    out.raw(bytes.subarray(from, at));
    if (kind === 'function') out.number(functions(number));
    else if (kind === 'type') out.number(types(number));
    else out.signed(types(number));
    from = at + length;
  }
  return out.raw(bytes.subarray(from)).bytes();
}

const limits = (out: Writer, count: number): Writer => out.byte(0).number(count);

/** Groups the table into runs of consecutive places. */
function runsOf(table: readonly (readonly [place: number, number: number])[]): { first: number; numbers: number[] }[] {
  const runs: { first: number; numbers: number[] }[] = [];
  for (const [place, number] of [...table].sort(([a], [b]) => a - b)) {
    const open = runs.at(-1);
    if (open && open.first + open.numbers.length === place) open.numbers.push(number);
    else runs.push({ first: place, numbers: [number] });
  }
  return runs;
}

/** The bytes of the module; it exports memory and run. */
export function link(program: Program): Uint8Array<ArrayBuffer> {
  const { core, emitted, run, pieces, bytes, description } = program;
  const types = [...core.types];
  const typeNumbers = new Map(types.map(({ key }, i) => [key, i]));
  const functions: Linked[] = [];
  const table: [place: number, number: number][] = [];

  const kept = reachedFunctions(program);
  const newNumber = new Map(kept.map((number, i) => [number, i]));
  for (const number of kept) {
    const body = core.functions[number - core.imported.length];
    // A run never calls the functions of the host: the clock, messages.
    if (!body) functions.push({ type: core.imported[number]!, bytes: UNREACHABLE });
    else functions.push({ type: body.type, bytes: renumbered(body, (n) => newNumber.get(n)!, (n) => n) });
  }
  for (const [place, number] of core.table) {
    const known = newNumber.get(number);
    if (known !== undefined) table.push([place, known]);
  }
  for (const { bytes: code, first, count } of emitted) {
    const module = readModule(code);
    const base = functions.length - module.imported.length;
    const typeOf = (number: number): number => {
      const type = module.types[number]!;
      if (!typeNumbers.has(type.key)) typeNumbers.set(type.key, types.push(type) - 1);
      return typeNumbers.get(type.key)!;
    };
    for (const body of module.functions) functions.push({ type: typeOf(body.type), bytes: renumbered(body, (n) => base + n, typeOf) });
    for (let i = 0; i < count; i++) table.push([first + i, base + module.exports.get(String(i))!]);
  }

  const runs = runsOf(table);
  const places = table.reduce((most, [place]) => Math.max(most, place + 1), 1);
  const out = new Writer().raw([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  const list = <T>(id: number, items: readonly T[], write: (w: Writer, item: T) => void): void => {
    out.section(id, (w) => {
      w.number(items.length);
      for (const item of items) write(w, item);
    });
  };
  list(1, types, (w, type) => w.raw(type.bytes));
  list(3, functions, (w, { type }) => w.number(type));
  out.section(4, (w) => limits(w.number(1).byte(0x70), places));
  out.section(5, (w) => limits(w.number(1), Math.ceil(bytes / PAGE)));
  if (core.globals) out.section(6, (w) => w.raw(core.globals!));
  out.section(7, (w) => w.number(2).text('memory').byte(2).number(0).text('run').byte(0).number(newNumber.get(run)!));
  list(9, runs, (w, { first, numbers }) => {
    w.byte(0).byte(0x41).signed(first).byte(0x0b).number(numbers.length);
    for (const number of numbers) w.number(number);
  });
  list(10, functions, (w, { bytes: body }) => w.number(body.length).raw(body));
  list(11, pieces, (w, piece) => w.byte(0).byte(0x41).signed(piece.address).byte(0x0b).number(piece.bytes.length).raw(piece.bytes));
  out.section(0, (w) => w.text('sinter').raw(new TextEncoder().encode(description)));
  return out.bytes();
}
