// A value on an edge of a graph: a tensor, elements known before anything runs (host), or both; or a sequence of values; or
// nothing (an empty optional).
//
// Shapes are computed from known elements. If an op needs elements that are not known, UnknownElements names the value. The model then
// runs again, with the inputs that the value depends on as constants (load.ts).

import { astype, SinterError, UnsupportedError, type Tensor } from '../index.js';
import { countOf, tensorOf, type Elements } from './tensors.js';
import { dtypeOf, STRING, typeName } from './types.js';

/** Nesting depth of traced functions of loops and conditions. Tensors made within are not valid after them, so not cached. */
let regions = 0;

export function inRegion<T>(f: () => T): T {
  regions++;
  try {
    return f();
  } finally {
    regions--;
  }
}

/** Thrown if an op needs the elements of a value, and they are not known. */
export class UnknownElements extends Error {
  readonly value: Value;
  constructor(value: Value) {
    super('a value is needed that is not known');
    this.value = value;
  }
}

/** Reads the elements of a constant when they are needed. */
type Lazy = () => Elements;

interface Parts {
  tensor?: Tensor;
  host?: Elements;
  /** For a weight: reads its elements from the file, for an op that takes them as part of its form. */
  file?: Lazy;
  items?: readonly Value[] | null;
}

export class Value {
  readonly type: number;
  readonly shape: readonly number[];
  /** The known elements, or null. If all inputs of an op are known, it may compute its result at once (fold.ts). */
  readonly host: Elements | null;
  /** The values of a sequence; null for an empty optional; undefined for a tensor. */
  readonly items: readonly Value[] | null | undefined;
  /** The inputs of the graph that it depends on: a bit per input. */
  from = 0n;
  #tensor: Tensor | null;
  readonly #file: Lazy | null;

  constructor(type: number, shape: readonly number[], { tensor, host, file, items }: Parts) {
    this.type = type;
    this.shape = shape;
    this.host = host ?? null;
    this.items = items;
    this.#tensor = tensor ?? null;
    this.#file = file ?? null;
  }

  get rank(): number {
    return this.shape.length;
  }

  get size(): number {
    return countOf(this.shape);
  }

  /** The value as a tensor, made from known elements when first needed. */
  get t(): Tensor {
    if (this.#tensor && !this.#tensor.isDisposed) return this.#tensor;
    if (this.items !== undefined) throw new SinterError('argument', 'onnx', 'expected a tensor, there is a sequence or an empty optional');
    const made = tensorOf('a constant', this.type, this.shape, this.host!);
    if (regions === 0) this.#tensor = made;
    return made;
  }

  /** The elements; throws UnknownElements if they cannot be had while tracing. */
  get elements(): Elements {
    if (this.host) return this.host;
    if (this.#file) return this.#file();
    try {
      return this.#tensor!.dataSync();
    } catch (cause) {
      if (cause instanceof SinterError && cause.code === 'argument') throw new UnknownElements(this);
      throw cause;
    }
  }

  get numbers(): number[] {
    if (this.type === STRING) throw new UnsupportedError('onnx', 'texts where numbers are expected');
    return Array.from(this.elements as ArrayLike<number>);
  }

  get texts(): readonly string[] {
    if (this.type !== STRING) throw new UnsupportedError('onnx', `elements of ${typeName(this.type)} where texts are expected`);
    return this.elements as readonly string[];
  }

  /** The values of a sequence. */
  get list(): readonly Value[] {
    if (this.items) return this.items;
    throw new SinterError('argument', 'onnx', 'expected a sequence');
  }
}

/** A value from a tensor, which is cast if its dtype is not the one that holds the type. */
export function made(type: number, t: Tensor): Value {
  const dtype = dtypeOf(type);
  const tensor = t.dtype === dtype ? t : astype(t, dtype);
  return new Value(type, tensor.shape, { tensor });
}

export const known = (type: number, shape: readonly number[], host: Elements): Value => new Value(type, shape, { host });

export const sequence = (items: readonly Value[]): Value => new Value(items[0]?.type ?? 0, [], { items });

/** An optional without a value. */
export const nothing = (): Value => new Value(0, [], { items: null });
