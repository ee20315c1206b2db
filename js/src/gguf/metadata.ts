// Metadata: values by name, each with its type. Numbers are JavaScript numbers, or bigints where 64 bits need them; arrays of
// numbers are typed arrays.

import { SinterError, UnsupportedError, internals } from '../index.js';
import { Cursor } from './cursor.js';
import type { Sink } from './sink.js';

const { damagedError, isPlainObject, shown } = internals;

/** Types of values; the index is the number in the file. */
const TYPES = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'bool', 'string', 'array', 'uint64', 'int64', 'float64'] as const;

type ValueType = Exclude<(typeof TYPES)[number], 'array'>;

const VALUE_TYPES = TYPES.filter((type): type is ValueType => type !== 'array');

/** The type of a value, e.g. 'uint32', or of an array, 'uint32[]'. */
export type MetadataType = ValueType | `${ValueType}[]`;

type NumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

export type MetadataValue = number | bigint | boolean | string | NumberArray | readonly string[] | readonly boolean[] | readonly number[];

export type GgufMetadata = Readonly<Record<string, MetadataValue>>;

/** The class of typed array for each type of number. */
const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
} as const;

/** The fewest bytes of a value in the file. A text has at least its length. */
const least = (type: ValueType): number => (type === 'string' ? 8 : type === 'bool' ? 1 : ARRAYS[type].BYTES_PER_ELEMENT);

/* ---- reading ---- */

function typeAt(op: string, cursor: Cursor, name: string): (typeof TYPES)[number] {
  const number = cursor.uint32();
  const type = TYPES[number];
  if (type === undefined) throw damagedError(op, `${shown(name)} has the type ${number}, there are 0 to ${TYPES.length - 1}`);
  return type;
}

const narrowed = (value: bigint): number | bigint =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;

function readBool(op: string, cursor: Cursor, name: string): boolean {
  const byte = cursor.uint8();
  if (byte > 1) throw damagedError(op, `${shown(name)} is ${byte}, a bool is 0 or 1`);
  return byte === 1;
}

function readScalar(op: string, cursor: Cursor, name: string, type: ValueType): MetadataValue {
  if (type === 'bool') return readBool(op, cursor, name);
  if (type === 'string') return cursor.text(shown(name));
  const value = cursor[type]();
  return typeof value === 'bigint' ? narrowed(value) : value;
}

function readArray(op: string, cursor: Cursor, name: string, type: ValueType): MetadataValue {
  const count = cursor.count(`the length of ${shown(name)}`, least(type));
  if (type === 'bool') return Array.from({ length: count }, () => readBool(op, cursor, name));
  if (type === 'string') return Array.from({ length: count }, () => cursor.text(shown(name)));
  // The file is little-endian, as all machines with WebAssembly are.
  return new ARRAYS[type](cursor.copy(count * least(type)).buffer);
}

/** Reads the type and the value behind a name. */
export function readValue(op: string, cursor: Cursor, name: string): [MetadataType, MetadataValue] {
  const type = typeAt(op, cursor, name);
  if (type !== 'array') return [type, readScalar(op, cursor, name, type)];
  const element = typeAt(op, cursor, name);
  if (element === 'array') throw new UnsupportedError(op, `${shown(name)} has arrays in an array`);
  return [`${element}[]`, readArray(op, cursor, name, element)];
}

/* ---- writing ---- */

const typeOfArray = (value: MetadataValue): ValueType | undefined =>
  (Object.keys(ARRAYS) as (keyof typeof ARRAYS)[]).find((type) => value instanceof ARRAYS[type]);

function typeOfScalar(value: unknown): ValueType | undefined {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return value < 0n ? 'int64' : 'uint64';
  if (typeof value !== 'number') return undefined;
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return 'float32';
  if (value < 0) return value >= -(2 ** 31) ? 'int32' : 'int64';
  return value < 2 ** 32 ? 'uint32' : 'uint64';
}

/** The type of a value that was given without one; see GgufWriteOptions.types. */
function inferType(op: string, name: string, value: MetadataValue): MetadataType {
  const own = typeOfArray(value);
  if (own) return `${own}[]`;
  const type = Array.isArray(value)
    ? value.every((each) => typeof each === 'number') && value.length > 0
      ? value.every((each) => Number.isInteger(each)) ? 'int32' : 'float32'
      : typeOfScalar(value[0] ?? '')
    : typeOfScalar(value);
  if (!type) throw new SinterError('argument', op, `metadata ${shown(name)} is ${shown(value)}, expected a number, a text, a bool or an array of them`);
  return Array.isArray(value) ? `${type}[]` : type;
}

/** Whether a finite number becomes infinite as float32. */
const isTooLarge = (value: number): boolean => Number.isFinite(value) && !Number.isFinite(Math.fround(value));

/** Whether the type can hold the value. */
function fits(type: ValueType, value: unknown): boolean {
  if (type === 'string' || type === 'bool') return typeof value === (type === 'bool' ? 'boolean' : type);
  if (type === 'float32' || type === 'float64') return typeof value === 'number' && (type === 'float64' || !isTooLarge(value));
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return false;
  const bits = BigInt(8 * least(type));
  const wide = BigInt(value as bigint);
  return wide === (type[0] === 'u' ? BigInt.asUintN(Number(bits), wide) : BigInt.asIntN(Number(bits), wide));
}

function writeScalar(sink: Sink, type: ValueType, value: unknown): void {
  if (type === 'string') sink.text(value as string);
  else if (type === 'bool') sink.uint8(value ? 1 : 0);
  else if (type === 'uint64' || type === 'int64') sink[type](BigInt(value as bigint));
  else sink[type](Number(value));
}

/** Writes a name, the type and the value. */
function writeEntry(op: string, sink: Sink, name: string, value: MetadataValue, given: MetadataType | undefined): void {
  const full = given ?? inferType(op, name, value);
  const isArray = String(full).endsWith('[]');
  const type = (isArray ? full.slice(0, -2) : full) as ValueType;
  if (!VALUE_TYPES.includes(type)) throw new SinterError('argument', op, `no type ${shown(given)} of metadata`, { hint: `there are ${VALUE_TYPES.join(', ')}, and arrays of them: 'int32[]'` });
  const values = isArray ? (Array.isArray(value) || typeOfArray(value) ? Array.from(value as ArrayLike<unknown>) : null) : [value];
  if (!values || !values.every((each) => fits(type, each))) throw new SinterError('argument', op, `metadata ${shown(name)} is ${shown(value)}, which is no ${full}`);
  sink.text(name);
  if (isArray) {
    sink.uint32(TYPES.indexOf('array'));
    sink.uint32(TYPES.indexOf(type));
    sink.uint64(BigInt(values.length));
  } else sink.uint32(TYPES.indexOf(type));
  // Copies typed arrays byte by byte, since reading a NaN as a number loses its bits.
  if (typeOfArray(value) === type) sink.put(internals.asBytes(op, value));
  else for (const each of values) writeScalar(sink, type, each);
}

/** Writes all metadata. types: by name, where the type is not the one inferred from the value. */
export function writeMetadata(op: string, sink: Sink, metadata: GgufMetadata, types: Readonly<Record<string, MetadataType>>): void {
  for (const [what, given] of [['metadata', metadata], ['types', types]] as const)
    if (!isPlainObject(given)) throw new SinterError('argument', op, `${what} is ${shown(given)}, expected an object`);
  const unknown = Object.keys(types).find((name) => !Object.hasOwn(metadata, name));
  if (unknown !== undefined) throw new SinterError('argument', op, `types has ${shown(unknown)}, metadata does not`);
  for (const [name, value] of Object.entries(metadata)) writeEntry(op, sink, name, value, Object.hasOwn(types, name) ? types[name] : undefined);
}
