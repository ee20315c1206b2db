// Reads a WebAssembly module as far as linking needs it: its types, its functions, and what they call. It reads the modules
// that the package's build and src/jit make, and no others: they have one table, one memory, and their own functions and
// globals.

import { Reader } from './bytes.js';

/** A type's own bytes; equal types have equal keys. */
export interface FunctionType {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** The number of its parameters. */
  readonly parameters: number;
}

/** A relocation of a function or a type in a body: `length` bytes from `at` on hold its number. */
export interface Relocation {
  readonly at: number;
  readonly length: number;
  /** 'block': the number of a block's type, which is written as a signed one. */
  readonly kind: 'function' | 'type' | 'block';
  readonly number: number;
}

export interface FunctionBody {
  readonly type: number;
  /** Locals and instructions. */
  readonly bytes: Uint8Array;
  readonly relocations: readonly Relocation[];
}

export interface Module {
  readonly types: readonly FunctionType[];
  /** Types of the imported functions, which are numbered first. */
  readonly imported: readonly number[];
  readonly functions: readonly FunctionBody[];
  /** The bytes of the section of globals. */
  readonly globals: Uint8Array | null;
  readonly exports: ReadonlyMap<string, number>;
  /** Places in the function table -> numbers of the functions there. */
  readonly table: ReadonlyMap<number, number>;
  /** Address and size of the initial data. */
  readonly data: readonly { readonly address: number; readonly size: number }[];
}

/** Opcodes that one number follows; those that are not handled below have no operands. */
const NUMBER = new Set([0x0c, 0x0d, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd0]);
const isMemory = (op: number): boolean => op >= 0x28 && op <= 0x3e;

/** Skips what follows the number of a vector instruction: a place in memory, a lane, or the bytes of a constant. */
function skipVector(read: Reader): void {
  const op = read.number();
  const lane = op >= 84 && op <= 91;
  if (op <= 11 || lane || op === 92 || op === 93) {
    read.skipNumber();
    read.skipNumber();
  }
  if (op === 12 || op === 13) read.take(16);
  if (lane || (op >= 21 && op <= 34)) read.byte();
}

/** How many numbers follow that of an instruction of bulk memory. */
const BULK: Readonly<Record<number, number>> = { 8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1 };

/** Finds all relocations in a body. */
function relocationsIn(bytes: Uint8Array): Relocation[] {
  const read = new Reader(bytes);
  const found: Relocation[] = [];
  const relocation = (kind: Relocation['kind']): void => {
    const at = read.at;
    const number = read.number();
    found.push({ at, length: read.at - at, kind, number });
  };
  read.list(() => [read.number(), read.byte()]); // locals
  while (read.at < bytes.length) {
    const op = read.byte();
    if (op === 0x10 || op === 0xd2) relocation('function');
    else if (op === 0x11) {
      relocation('type');
      read.skipNumber();
    } else if (op === 0x02 || op === 0x03 || op === 0x04) {
      const first = bytes[read.at]!;
      if (first >= 0x40 && first < 0x80) read.byte();
      else relocation('block');
    } else if (op === 0x0e) {
      read.list(() => read.skipNumber());
      read.skipNumber();
    } else if (op === 0x1c) read.list(() => read.byte());
    else if (op === 0x43) read.take(4);
    else if (op === 0x44) read.take(8);
    else if (isMemory(op)) {
      read.skipNumber();
      read.skipNumber();
    } else if (NUMBER.has(op)) read.skipNumber();
    else if (op === 0xfc) for (let n = BULK[read.number()] ?? 0; n > 0; n--) read.skipNumber();
    else if (op === 0xfd) skipVector(read);
  }
  return found;
}

function readType(read: Reader): FunctionType {
  const begin = read.at;
  read.byte();
  const parameters = read.list(() => read.byte()).length;
  read.list(() => read.byte());
  const bytes = read.bytes.slice(begin, read.at);
  return { key: bytes.join(), bytes, parameters };
}

/** Reads an import. Returns the number of its type if it is a function, else null. */
function readImport(read: Reader): number | null {
  read.text();
  read.text();
  const kind = read.byte();
  if (kind === 0) return read.number();
  if (kind === 1) read.byte();
  const limited = read.byte() & 1;
  read.number();
  if (limited) read.number();
  return null;
}

/** Reads an address from a constant expression. */
function readAddress(read: Reader): number {
  read.byte();
  let value = 0;
  let shift = 0;
  let byte;
  do {
    byte = read.byte();
    value |= (byte & 127) << shift;
    shift += 7;
  } while (byte >= 128);
  if (shift < 32 && byte & 64) value |= -1 << shift;
  read.byte();
  return value >>> 0;
}

export function readModule(bytes: Uint8Array): Module {
  const read = new Reader(bytes, 8);
  const types: FunctionType[] = [];
  const imported: number[] = [];
  const kinds: number[] = [];
  const functions: FunctionBody[] = [];
  let globals: Uint8Array | null = null;
  const exports = new Map<string, number>();
  const table = new Map<number, number>();
  const data: { address: number; size: number }[] = [];

  const readElements = (): void => {
    read.number();
    let place = readAddress(read);
    for (const number of read.list(() => read.number())) table.set(place++, number);
  };
  const readExport = (): void => {
    const name = read.text();
    const kind = read.byte();
    const number = read.number();
    if (kind === 0) exports.set(name, number);
  };
  const readData = (): void => {
    read.number();
    const address = readAddress(read);
    data.push({ address, size: read.take(read.number()).length });
  };
  const readBody = (): void => {
    const body = read.take(read.number());
    functions.push({ type: kinds[functions.length]!, bytes: body, relocations: relocationsIn(body) });
  };

  while (read.at < bytes.length) {
    const id = read.byte();
    const size = read.number();
    const end = read.at + size;
    if (id === 1) types.push(...read.list(() => readType(read)));
    else if (id === 2) imported.push(...read.list(() => readImport(read)).filter((type) => type !== null));
    else if (id === 3) kinds.push(...read.list(() => read.number()));
    else if (id === 6) globals = bytes.subarray(read.at, end);
    else if (id === 7) read.list(readExport);
    else if (id === 9) read.list(readElements);
    else if (id === 10) read.list(readBody);
    else if (id === 11) read.list(readData);
    read.at = end;
  }
  return { types, imported, functions, globals, exports, table, data };
}
