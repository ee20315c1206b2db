/// <reference lib="esnext.disposable" preserve="true" />
// The tensor handle: an address in the core, and shape and dtype once somebody asked.
//
// Invariant: address is 0 from the moment the handle has given its reference back (dispose, end of a
// scope, donation) and never comes back. A handle belongs to the innermost scope it was made in, or to
// the garbage collector when there was none.

import { sizeOf } from './axes.js';
import { isLooking, noteCall } from './calls.js';
import { copyToDevice, checkDevice, checkNotLost, deviceOf, addressForTrace, isTracingForDevice, type DeviceName } from './device.js';
import { DisposedError, ShapeError, SinterError, shapeText } from './errors.js';
import { dtypeFromNumber, dtypeNumber, isHalf, newArray, viewOf, type DType, type TensorData } from './dtype.js';
import { noticePressure, relievePressure, withRelief } from './pressure.js';
import { runtime, runtimeOrNull, type Runtime } from './runtime/runtime.js';
import { activeScope } from './scope.js';
import { isCompiling, replaced } from './trace.js';
import type { Methods } from './methods.gen.js';

/** The facts about a tensor that are fixed when it is made. */
export interface Meta {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Both as one text, e.g. 'float32(2, 3)'. */
  readonly key: string;
}

export type NestedArray = number | boolean | readonly NestedArray[];

const DONATED = 'donated to a compiled function';

const collected = new FinalizationRegistry<number>((address) =>
  runtimeOrNull()?.exports.sinter_release(address),
);

export const makeMeta = (dtype: DType, shape: readonly number[]): Meta => ({
  dtype,
  shape: Object.freeze([...shape]),
  key: `${dtype}${shapeText(shape)}`,
});

/** Symbol.dispose where the engine has it; `using` as compiled by TypeScript looks for the same. */
const disposeSymbol: typeof Symbol.dispose =
  (Symbol as { dispose?: typeof Symbol.dispose }).dispose ??
  (Symbol.for('Symbol.dispose') as typeof Symbol.dispose);

const UNCLONEABLE = Symbol('a tensor is no message: send await t.data() and t.shape');

// The public functions are put on the prototype by methods.gen.ts.
export interface Tensor extends Methods {
  /** dispose, for `using`. */
  [Symbol.dispose](): void;
}

/** An n-dimensional array: a lazy expression, or a value in memory. The functions of sinter make tensors. */
export class Tensor {
  /** @internal The core's address of it; 0 once given back. */
  address: number;
  #meta: Meta | null;
  #gone = '';
  #isCollected = false;
  readonly #isTraced = isCompiling();
  /** @internal A clone, as postMessage and structuredClone make it, would lose the values; they cannot clone this. */
  readonly uncloneable = UNCLONEABLE;

  /** @internal Takes over one reference. */
  constructor(address: number, meta: Meta | null = null) {
    this.address = address;
    this.#meta = meta;
    const scope = activeScope();
    if (scope) scope.add(this);
    else this.unscope();
  }

  /** @internal The address for an operation; throws when it was given back. */
  use(op: string): number {
    if (this.address === 0) throw this.#goneError(op);
    if (replaced !== null && replaced.has(this)) throw replacedError(op);
    return isTracingForDevice() ? addressForTrace(this.address) : this.address;
  }

  /** @internal Makes the garbage collector its owner. */
  unscope(): void {
    if (this.address === 0 || this.#isCollected) return;
    collected.register(this, this.address, this);
    this.#isCollected = true;
  }

  /** @internal Gives the reference back because a program has taken the memory. */
  donated(): void {
    this.giveBack(DONATED);
  }

  /** @internal */
  get isDonated(): boolean {
    return this.address === 0 && this.#gone === DONATED;
  }

  /** @internal As use, for operations that need the values. */
  read(op: string): number {
    const address = this.use(op);
    if (this.#isTraced && isCompiling()) {
      throw new SinterError('argument', op, 'tensors have no values while a function is being compiled', {
        hint: 'return the tensor from the function that is traced, and read it outside',
      });
    }
    return address;
  }

  #goneError(op: string): DisposedError {
    const shapes = this.#meta ? [this.#meta.shape] : [];
    const hint = this.#gone.startsWith('made') ? 'return it from that function' : '';
    return new DisposedError(op, `the tensor${shapes.map((shape) => ` ${shapeText(shape)}`).join('')} was ${this.#gone}`, { shapes, hint });
  }

  /** @internal */
  get meta(): Meta {
    return (this.#meta ??= this.#describe());
  }

  #describe(): Meta {
    const rt = runtime();
    rt.exports.sinter_describe(this.use('shape'));
    const at = rt.scratch(0);
    const words = rt.words();
    const shape = Array.from(words.subarray(at + 2, at + 2 + words[at + 1]!));
    return makeMeta(dtypeFromNumber(words[at]!), shape);
  }

  /** The sizes along the axes; [] for a scalar. */
  get shape(): readonly number[] {
    return this.meta.shape;
  }

  get dtype(): DType {
    return this.meta.dtype;
  }

  /** Number of elements. */
  get size(): number {
    return sizeOf(this.meta.shape);
  }

  /** Number of axes. */
  get ndim(): number {
    return this.meta.shape.length;
  }

  /** Whether it has given its value back: by dispose(), at the end of a scope, or as a donation. */
  get isDisposed(): boolean {
    return this.address === 0;
  }

  /** Gives the memory back at once; further calls do nothing. */
  dispose(): void {
    this.giveBack();
  }

  /** @internal dispose; gone: what became of it, for errors. */
  giveBack(gone = 'disposed'): void {
    if (this.address === 0) return;
    this.#gone = gone;
    collected.unregister(this);
    runtimeOrNull()?.exports.sinter_release(this.address);
    this.address = 0;
  }

  /** The elements, row-major, as a new array; float16 and bfloat16 as float32. Never blocks a page: a worker computes
   *  what is missing, or without workers the page's own thread, for 10 ms at a time. */
  async data(): Promise<TensorData> {
    const rt = runtime();
    const { address, meta } = readable(rt, this.read('data'), this.meta);
    try {
      if (rt.device?.pause) await rt.device.pause;
      if (deviceOf(address) !== 'cpu') return await readBack(rt, address, meta, String(this));
      return await withRelief(async () => {
        rt.send([address]);
        rt.ok(rt.exports.sinter_eval_async(1));
        await rt.wait(rt.word(0) >>> 0);
        return copyOut(address, meta);
      });
    } finally {
      rt.exports.sinter_release(address);
      const relief = relievePressure(rt);
      if (relief) await relief;
    }
  }

  /** Where the tensor is; what is computed from it will be there, too. */
  get device(): DeviceName {
    return deviceOf(this.use('device'));
  }

  /** The same values on a device, as a new tensor. From the device to the CPU they have to be read: then it returns a
   *  promise. */
  to(device: 'webgpu'): Tensor;
  to(device: DeviceName): Tensor | Promise<Tensor>;
  to(device: DeviceName): Tensor | Promise<Tensor> {
    const rt = runtime();
    const address = this.read('to');
    const where = checkDevice('to', device);
    if (deviceOf(address) === where) {
      rt.exports.sinter_retain(address);
      return wrap(address, this.#meta);
    }
    if (where === 'webgpu') return wrap(copyToDevice(address, where), this.#meta);
    if (device !== where) checkNotLost('to', [this]);
    return this.data().then((data) => fromElements(data, this.meta));
  }

  /** As data, but synchronously: the caller computes what is missing, together with the workers. */
  dataSync(): TensorData {
    return this.#atOnce(this.read('dataSync'));
  }

  /** The elements at its address, which read() gave, synchronously. */
  #atOnce(address: number): TensorData {
    runtime().device?.noteSyncRead(this);
    return copySync(address, this.meta);
  }

  /** The only element, as a number; a bool gives 0 or 1. */
  item(): number {
    const address = this.read('item');
    if (this.size !== 1) {
      throw new ShapeError('item', `expected one element, a ${shapeText(this.shape)}`, {
        shapes: [this.shape],
        hint: 'use dataSync or toArray',
      });
    }
    return this.#atOnce(address)[0]!;
  }

  /** The elements as nested arrays of numbers, or of booleans. */
  toArray(): NestedArray {
    const data = this.#atOnce(this.read('toArray'));
    const { shape, dtype } = this.meta;
    let level: NestedArray[] = dtype === 'bool' ? Array.from(data, Boolean) : Array.from(data);
    for (let axis = shape.length - 1; axis > 0; axis--)
      level = rows(level, shape[axis]!, sizeOf(shape.slice(0, axis)));
    return shape.length === 0 ? level[0]! : level;
  }

  toString(): string {
    if (this.address === 0 && !this.#meta) return `Tensor(${this.#gone})`;
    const state = this.address === 0 ? `, ${this.#gone}` : '';
    return `Tensor(${this.dtype} ${shapeText(this.shape)}${state})`;
  }

  /** Always throws: a tensor may have no values yet. */
  toJSON(): never {
    throw new SinterError('argument', 'toJSON', 'a tensor has no JSON', {
      hint: 'sn.tree.map((t) => t.toArray(), tree) makes arrays of all tensors of a tree; await t.data() waits for values',
    });
  }

  /** Text for template strings; refuses JavaScript's operators, which cannot compute with tensors. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    throw new SinterError('argument', 'tensor', `JavaScript's operators do not work on ${this.toString()}`, {
      shapes: [this.shape],
      hint: 'write a.add(b), a.greater(b) ..., or item() for the number of a computed tensor',
    });
  }

  get [Symbol.toStringTag](): string {
    return 'Tensor';
  }
}

const replacedError = (op: string): SinterError =>
  new SinterError('argument', op, 'a function in a field of an instance uses that instance, not the argument', {
    hint: 'in arguments of jit, grad, vmap and their like write it as a method: apply(x) { return x.mul(this.w); }',
  });

/** count rows of width elements each. */
function rows(flat: NestedArray[], width: number, count: number): NestedArray[] {
  return Array.from({ length: count }, (_, row) => flat.slice(row * width, (row + 1) * width));
}

/** The tensor to read elements from: itself, or for float16 and bfloat16 its conversion to float32. The caller releases it. */
function readable(rt: Runtime, address: number, meta: Meta): { address: number; meta: Meta } {
  if (isHalf(meta.dtype))
    return { address: rt.check(rt.exports.sinter_astype(address, 0)), meta: makeMeta('float32', meta.shape) };
  rt.exports.sinter_retain(address);
  return { address, meta };
}

function copySync(from: number, as: Meta): TensorData {
  const rt = runtime();
  const { address, meta } = readable(rt, from, as);
  try {
    return copyOut(address, meta);
  } finally {
    rt.exports.sinter_release(address);
    noticePressure(rt);
  }
}

/** The elements of a tensor on the device. what: its name in errors. */
async function readBack(rt: Runtime, address: number, { dtype, shape }: Meta, what: string): Promise<TensorData> {
  const size = sizeOf(shape);
  const out = newArray(dtype, size);
  const buffer = rt.check(rt.exports.sinter_gpu_buffer(address));
  out.set(viewOf(dtype, await rt.device!.read(buffer, out.byteLength, what), 0, size));
  return out;
}

/** A tensor on the CPU with elements that data() gave; meta: of the tensor that they came from. */
function fromElements(data: TensorData, { dtype, shape }: Meta): Tensor {
  const rt = runtime();
  const wide = isHalf(dtype) ? 'float32' : dtype;
  rt.send(shape);
  const made = rt.check(rt.exports.sinter_empty(dtypeNumber(wide), shape.length));
  viewOf(wide, rt.memory.buffer, rt.word(0) >>> 0, data.length).set(data);
  if (wide === dtype) return wrap(made);
  const address = rt.exports.sinter_astype(made, dtypeNumber(dtype));
  rt.exports.sinter_release(made);
  return wrap(address);
}

/** Evaluates and copies the elements out of the core's memory. */
function copyOut(address: number, { dtype, shape }: Meta): TensorData {
  const rt = runtime();
  const size = sizeOf(shape);
  const from = rt.check(rt.exports.sinter_data(address)) >>> 0;
  const out = newArray(dtype, size);
  out.set(viewOf(dtype, rt.memory.buffer, from, size));
  return out;
}

Object.defineProperties(Tensor.prototype, {
  [disposeSymbol]: { value: Tensor.prototype.dispose, configurable: true, writable: true },
});

/** A handle for an address that the core returned; 0 throws the core's error. */
export function wrap(address: number, meta: Meta | null = null): Tensor {
  if (isLooking) noteCall();
  return new Tensor(address === 0 ? runtime().check(0) : address, meta);
}
