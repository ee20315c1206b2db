// What goes along the edges of a graph: a tensor, elements that are known before anything runs (host), or both; a sequence of
// values, or nothing (an empty optional).
//
// Shapes are computed from elements that are known. Where an op needs such and there are none, Unknown says of which value;
// the model then runs again with the inputs that this value is made of as constants (load.ts).

import { astype, SinterError, UnsupportedError, type Tensor } from '../index.js';
import { countOf, tensorOf, type Elements } from './tensors.js';
import { dtypeOf, STRING, typeName } from './types.js';

/** How deep in functions of loops and conditions: tensors that are made there end there. */
let regions = 0;

export function inRegion<T>(f: () => T): T {
  regions++;
  try {
    return f();
  } finally {
    regions--;
  }
}

/** The elements of a value are needed, and not known. */
export class Unknown extends Error {
  readonly value: Value;
  constructor(value: Value) {
    super('a value is needed that is not known');
    this.value = value;
  }
}

/** How the elements of a constant are had when they are needed. */
type Lazy = () => Elements;

interface Parts {
  tensor?: Tensor;
  host?: Elements;
  /** Of a parameter: its elements in the file, for an op that takes them as part of its form. */
  file?: Lazy;
  items?: readonly Value[] | null;
}

export class Value {
  readonly type: number;
  readonly shape: readonly number[];
  /** The elements where they are known; of the values that only these have, ops compute at once. */
  readonly host: Elements | null;
  /** The values of a sequence; null of an empty optional; undefined of a tensor. */
  readonly items: readonly Value[] | null | undefined;
  /** Which inputs of the graph it is made of, as bits. */
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

  /** As a tensor; one of known elements is made when it is asked for. */
  get t(): Tensor {
    if (this.#tensor && !this.#tensor.isDisposed) return this.#tensor;
    if (this.items !== undefined) throw new SinterError('argument', 'onnx', 'expected a tensor, there is a sequence or an empty optional');
    const made = tensorOf('a constant', this.type, this.shape, this.host!);
    if (regions === 0) this.#tensor = made;
    return made;
  }

  /** The elements, for what decides the form of a program. */
  get elements(): Elements {
    if (this.host) return this.host;
    if (this.#file) return this.#file();
    try {
      return this.#tensor!.dataSync();
    } catch (cause) {
      if (cause instanceof SinterError && cause.code === 'argument') throw new Unknown(this);
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

/** A value in a tensor; converted where its dtype does not hold the type. */
export function made(type: number, t: Tensor): Value {
  const dtype = dtypeOf(type);
  const tensor = t.dtype === dtype ? t : astype(t, dtype);
  return new Value(type, tensor.shape, { tensor });
}

export const known = (type: number, shape: readonly number[], host: Elements): Value => new Value(type, shape, { host });

export const sequence = (items: readonly Value[]): Value => new Value(items[0]?.type ?? 0, [], { items });

/** An optional without a value. */
export const nothing = (): Value => new Value(0, [], { items: null });
