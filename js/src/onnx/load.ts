// A loaded model: its inputs and outputs, its weights as parameters, and how it runs.
//
// A run is compiled for the shapes of its inputs. If an op needs elements of a value to know a shape, it throws UnknownElements. If the
// value follows from inputs, the run starts again with these inputs as constants of the program. Otherwise the model runs op by
// op from then on.

import { DTypeError, internals, jit, keep, reshape, ShapeError, SinterError, Tensor, tensor, tidy, UnsupportedError, type Jitted, type NestedArray, type NumericArray } from '../index.js';
import { execute } from './execute.js';
import { readModel, type ModelProto, type TensorProto, type ValueInfo } from './model.js';
import { OPS } from './ops/table.js';
import { partOf } from './part.js';
import { link, type Machine, type Op, type Plan, type Step } from './plan.js';
import { prepare } from './prepare.js';
import { patched, type Patch } from './save.js';
import { countOf, readElements, readTensor, type Elements, type External } from './tensors.js';
import { dtypeOf, STRING, typeName } from './types.js';
import { known, made, nothing, sequence, UnknownElements, Value } from './value.js';

const { asBytes, isNumericArray, isPlainObject, readOptions, shapeText, shown } = internals;

const RUN: internals.OptionSchema<RunOptions> = { onNode: 'function' };

/** The most programs that one model keeps, for different inputs that decide shapes. */
const MOST_PROGRAMS = 32;

/** Texts in nested arrays. */
export type Texts = string | readonly Texts[];
/** An input: a tensor, numbers, texts, a sequence of these, or null for an empty optional. */
export type Input = Tensor | NumericArray | NestedArray | Texts | readonly Input[] | null;
/** An output: a tensor, texts, a sequence of these, or null for an empty optional. The caller owns the tensors. */
export type Output = Tensor | Texts | readonly Output[] | null;
export type Params = Readonly<Record<string, Tensor>>;

/** An input or an output as the file describes it. */
export interface Port {
  readonly name: string;
  /** For a tensor its element type as ONNX names it ('float', 'int64'), or '' if the file does not say; else 'sequence' or
   *  'optional'. */
  readonly dtype: string;
  /** Sizes along the axes: a number; a name if each call may choose; '' if the file does not say. null: any rank. */
  readonly shape: readonly (number | string)[] | null;
}

export interface LoadOptions {
  /** Buffers with the elements of tensors stored outside the file, by the names that the file gives them. */
  external?: External;
  /** Names of values that calls give, instead of the nodes that compute them. With outputs, this makes a part of the graph a
   *  model. */
  inputs?: readonly string[];
  /** Names of values to return instead of the graph's outputs. */
  outputs?: readonly string[];
  /**
   * The accuracy_level of MatMulNBits nodes for which the file gives none: 4 lets them quantise their other operand to 8 bits,
   * with one scale per 32 numbers, which is several times as fast. The same holds for MatMul with a DequantizeLinear of blocks
   * in the file. Default 0: both use that operand unchanged.
   */
  accuracy?: number;
}

/** What one node did in a run. */
export interface NodeRun {
  /** Index of the node in onnx.read(bytes).nodes. For a node within a function, that of the node that calls it. */
  node: number;
  ms: number;
  /** What it computed; null for a value that is not a tensor. */
  outputs: ({ dtype: string; shape: readonly number[] } | null)[];
}

export interface RunOptions {
  /** Runs op by op, waits for each result, and calls this after each node. */
  onNode?: (run: NodeRun) => void;
}

export interface Model {
  /** In the order of the graph. */
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** The float weights by name. The model owns them until dispose. */
  readonly params: Params;
  /** Computes the outputs for inputs by name. Compiled once per combination of shapes. The caller owns the outputs. */
  run(inputs: Readonly<Record<string, Input>>, options?: RunOptions): Record<string, Tensor>;
  /**
   * Computes the outputs with other weights: a function for jit, grad, vmap and trainStep. An input given as numbers instead of
   * a tensor is a constant, and so may decide shapes.
   */
  apply(params: Params, inputs: Readonly<Record<string, Input>>): Record<string, Tensor>;
  /** The file with these weights in place of its own and all other bytes unchanged. For a part of a graph, too, it is the
   *  whole file. */
  save(params: Params): Uint8Array<ArrayBuffer>;
  /** Frees the memory of weights and programs. */
  dispose(): void;
}

export const portOf = ({ name, kind, type, shape }: ValueInfo): Port => ({ name, dtype: kind !== 'tensor' ? kind : type === 0 ? '' : typeName(type), shape });

/** Nested arrays as elements and a shape; null if rows differ in length, or an element is of another type. */
function elementsOf<T>(given: unknown, isElement: (value: unknown) => value is T): { shape: number[]; elements: T[] } | null {
  const shape: number[] = [];
  let level: unknown[] = [given];
  while (level.length > 0 && level.every(Array.isArray)) {
    const size: number = (level[0] as unknown[]).length;
    if (level.some((each) => (each as unknown[]).length !== size)) return null;
    shape.push(size);
    level = (level as unknown[][]).flat();
  }
  return level.every(isElement) ? { shape, elements: level } : null;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number | boolean => typeof value === 'number' || typeof value === 'boolean';

/** Flat texts as nested arrays of a shape. */
function nested(texts: readonly string[], shape: readonly number[]): Texts {
  let level: Texts[] = [...texts];
  for (let axis = shape.length - 1; axis > 0; axis--) {
    const size = shape[axis]!;
    const count = shape.slice(0, axis).reduce((a, b) => a * b, 1);
    level = Array.from({ length: count }, (_, i) => level.slice(i * size, (i + 1) * size));
  }
  return shape.length === 0 ? level[0]! : level;
}

/** An output as the caller gets it: always a new handle, even if the output is a weight or an input. */
function outputOf(value: Value): Output {
  if (value.items === null) return null;
  if (value.items) return value.items.map(outputOf);
  return value.type === STRING ? nested(value.texts, value.shape) : reshape(value.t, value.shape);
}

class LoadedModel implements Model {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly params: Params;
  readonly #proto: ModelProto;
  readonly #plan: Plan;
  readonly #machine: Machine;
  /** The inputs that calls give: those of the file without an initializer. */
  readonly #open: readonly ValueInfo[];
  /** Weights that are not parameters, by the slot of their value. */
  readonly #constants = new Map<number, Tensor | Elements>();
  /** Weights in the layout that prepared steps use (prepare.ts). */
  readonly #prepared: readonly Tensor[];
  readonly #slots = new Map<string, number>();
  /** Names of the inputs whose elements decide shapes. */
  readonly #forms = new Set<string>();
  readonly #programs = new Map<string, Jitted<[Params, Record<string, Tensor>], Record<string, Tensor>>>();

  constructor(proto: ModelProto, external: External, accuracy: number) {
    this.#proto = proto;
    const source = { bytes: proto.bytes, external };
    this.#machine = { values: [], source, accuracy, isEager: false, call: (plan, args) => execute(this.#machine, plan, args) };
    const plans = link(proto, OPS, this.#machine);
    this.#plan = plans[0]!;
    this.#prepared = prepare(plans, source);
    const initial = new Set(proto.graph.initializers.map(({ name }) => name));
    this.#open = proto.graph.inputs.filter(({ name }) => !initial.has(name));
    this.inputs = this.#open.map(portOf);
    this.outputs = proto.graph.outputs.map(portOf);
    this.params = this.#readWeights();
    this.#machine.isEager = [...this.#open, ...proto.graph.outputs].some(({ kind, type }) => kind !== 'tensor' || type === STRING);
  }

  /** Whether all ops take this weight as part of their form (shapes, axes ...), so that it is a constant and not a
   *  parameter. */
  #isForm(slot: number, proto: TensorProto): boolean {
    const number = countOf(proto.dims) === 1 ? Number(readElements(proto, this.#machine.source)[0]) : NaN;
    const takes = (op: Op, input: number): boolean => (op.forms?.includes(input) ?? false) || (op.isForm?.(input, number) ?? false);
    const uses = this.#plan.steps.flatMap(({ op, inputs, captures }) => (captures.has(slot) ? [false] : inputs.flatMap((each, i) => (each === slot ? [takes(op, i)] : []))));
    return uses.length > 0 && uses.every(Boolean);
  }

  #readWeights(): Params {
    const made: [string, Tensor][] = [];
    const { source } = this.#machine;
    try {
      for (const { slot, proto } of this.#plan.initials) {
        const isParam = [1, 10, 11, 16].includes(proto.type) && !this.#isForm(slot, proto);
        const hasTensor = proto.type !== STRING && (isParam || countOf(proto.dims) > 4096);
        if (!hasTensor) this.#constants.set(slot, readElements(proto, source));
        else {
          const t = keep(readTensor(proto, source));
          if (isParam) {
            made.push([proto.name, t]);
            this.#slots.set(proto.name, slot);
          } else this.#constants.set(slot, t);
        }
      }
    } catch (cause) {
      for (const [, t] of made) t.dispose();
      this.#disposeConstants();
      throw cause;
    }
    return Object.fromEntries(made);
  }

  #disposeConstants(): void {
    for (const each of [...this.#constants.values(), ...this.#prepared]) if (each instanceof Tensor) each.dispose();
  }

  #checkParams(op: string, params: unknown): asserts params is Params {
    if (!isPlainObject(params)) throw new SinterError('argument', op, `params is ${shown(params)}, expected an object of tensors`, { hint: 'model.params has them' });
    for (const name of Object.keys(params)) {
      if (!this.#slots.has(name)) throw new SinterError('argument', op, `there is no weight ${shown(name)}`);
    }
    for (const { proto } of this.#plan.initials) {
      if (!this.#slots.has(proto.name)) continue;
      const given = Object.hasOwn(params, proto.name) ? params[proto.name] : undefined;
      if (!(given instanceof Tensor)) throw new SinterError('argument', op, `weight ${shown(proto.name)} is ${shown(given)}, expected a tensor`);
      if (given.shape.join() !== proto.dims.join())
        throw new ShapeError(op, `weight ${shown(proto.name)} is ${shapeText(given.shape)}, expected ${shapeText(proto.dims)}`, { shapes: [given.shape, proto.dims] });
      if (op === 'onnx.save' && given.dtype !== dtypeOf(proto.type)) throw new DTypeError(op, `weight ${shown(proto.name)} is ${given.dtype}, expected ${dtypeOf(proto.type)}`);
    }
  }

  /** Throws if an input is not known by name, or is missing. */
  #checkNames(op: string, inputs: unknown): asserts inputs is Readonly<Record<string, Input>> {
    const names = this.inputs.map(({ name }) => name);
    const hint = `the inputs are ${names.map(shown).join(', ') || 'none'}`;
    if (!isPlainObject(inputs)) throw new SinterError('argument', op, `inputs is ${shown(inputs)}, expected an object of tensors by name`, { hint });
    const extra = Object.keys(inputs).find((name) => !names.includes(name));
    if (extra !== undefined) throw new SinterError('argument', op, `there is no input ${shown(extra)}`, { hint });
    const missing = this.inputs.find(({ name, dtype }) => !Object.hasOwn(inputs, name) && dtype !== 'optional');
    if (missing) throw new SinterError('argument', op, `input ${shown(missing.name)} is not given`, { hint });
  }

  /** Checks the shape of an input. Sizes with the same name must be equal in all inputs. */
  #checkShape(op: string, info: ValueInfo, shape: readonly number[], sizes: Map<string, number>): void {
    const fail = (): ShapeError => new ShapeError(op, `input ${shown(info.name)} is ${shapeText(shape)}, expected ${shapeText(info.shape!)}`, { shapes: [shape] });
    if (!info.shape) return;
    if (info.shape.length !== shape.length) throw fail();
    info.shape.forEach((size, i) => {
      const wanted = typeof size === 'number' ? size : size === '' ? undefined : sizes.get(size);
      if (typeof size === 'string' && size) sizes.set(size, wanted ?? shape[i]!);
      if (wanted === undefined || wanted === shape[i]) return;
      if (typeof size === 'number') throw fail();
      throw new ShapeError(op, `input ${shown(info.name)} is ${shapeText(shape)}, but ${shown(size)} is ${wanted} in an input before it`, { shapes: [shape] });
    });
  }

  /** An input as a value. asKnown: numbers become constants. */
  #entered(op: string, info: ValueInfo, given: Input | undefined, asKnown: boolean, sizes: Map<string, number>): Value {
    if (given === null || given === undefined) {
      if (info.kind === 'optional') return nothing();
      throw new SinterError('argument', op, `input ${shown(info.name)} is ${given}, expected a tensor`);
    }
    if (info.kind === 'sequence' || (info.kind === 'optional' && Array.isArray(given))) {
      if (!Array.isArray(given)) throw new SinterError('argument', op, `input ${shown(info.name)} is ${shown(given)}, expected an array of tensors`);
      return sequence((given as readonly Input[]).map((each) => this.#entered(op, { ...info, kind: 'tensor', shape: null, type: 0 }, each, asKnown, sizes)));
    }
    const value = this.#tensorInput(op, info, given, asKnown);
    this.#checkShape(op, info, value.shape, sizes);
    return value;
  }

  #tensorInput(op: string, info: ValueInfo, given: Input, asKnown: boolean): Value {
    const texts = info.type === STRING || (info.type === 0 && !(given instanceof Tensor) && !isNumericArray(given)) ? elementsOf(given, isText) : null;
    if (texts && (info.type === STRING || texts.elements.length > 0)) return known(STRING, texts.shape, texts.elements);
    if (info.type === STRING) throw new SinterError('argument', op, `input ${shown(info.name)} is ${shown(given)}, expected texts in nested arrays`);
    const type = info.type || typeFor(given instanceof Tensor ? given.dtype : 'float32');
    const dtype = dtypeOf(type);
    if (given instanceof Tensor) {
      if (given.dtype !== dtype) {
        throw new DTypeError(op, `input ${shown(info.name)} is ${given.dtype}, expected ${dtype} for ${typeName(type)}`, { hint: `astype('${dtype}')` });
      }
      return made(type, given);
    }
    // The elements of a tensor made while a function is traced cannot be read, so numbers stay in JavaScript.
    const numbers = asKnown ? elementsOf(isNumericArray(given) ? Array.from(given as ArrayLike<number>) : given, isNumber) : null;
    return numbers ? known(type, numbers.shape, numbers.elements.map(Number)) : made(type, tensor(given as NestedArray, { dtype }));
  }

  /** The function called after each step, which reports to onNode. */
  #teller(onNode: NonNullable<RunOptions['onNode']>): (step: Step) => void {
    let begin = performance.now();
    return ({ number, outputs }) => {
      const made = outputs.filter((slot) => slot >= 0).map((slot) => this.#machine.values[slot]!);
      internals.evaluate(made.filter(({ host, items }) => !host && items === undefined).map(({ t }) => t));
      const ms = performance.now() - begin;
      onNode({ node: number, ms, outputs: made.map(({ type, shape, items }) => (items === undefined ? { dtype: typeName(type), shape } : null)) });
      begin = performance.now();
    };
  }

  /** Runs the graph on the values of its inputs. */
  #execute(params: Params, values: readonly Value[], onNode?: RunOptions['onNode']): Record<string, Output> {
    const machine = this.#machine;
    machine.values.fill(undefined);
    for (const { slot, proto } of this.#plan.initials) {
      const constant = this.#constants.get(slot);
      const t = constant === undefined ? params[proto.name] : constant;
      const file = (): Elements => readElements(proto, machine.source);
      machine.values[slot] = t instanceof Tensor ? new Value(proto.type, proto.dims, { tensor: t, file }) : known(proto.type, proto.dims, t!);
    }
    values.forEach((value, i) => (value.from = 1n << BigInt(i)));
    try {
      const made = execute(machine, this.#plan, values, onNode && this.#teller(onNode));
      return Object.fromEntries(this.outputs.map(({ name }, i) => [name, outputOf(made[i]!)]));
    } finally {
      machine.values.fill(undefined);
    }
  }

  apply(params: Params, inputs: Readonly<Record<string, Input>>): Record<string, Tensor> {
    const op = 'onnx.apply';
    this.#checkParams(op, params);
    this.#checkNames(op, inputs);
    const sizes = new Map<string, number>();
    try {
      return tidy(() => {
        const values = this.#open.map((info) => this.#entered(op, info, inputs[info.name], true, sizes));
        return this.#execute(params, values) as Record<string, Tensor>;
      });
    } catch (cause) {
      if (!(cause instanceof UnknownElements)) throw cause;
      throw new UnsupportedError(op, `the shape of a value depends on elements of ${this.#named(cause.value.from)}, which have no values while a function is traced`, {
        hint: 'an input given as an array of numbers is a constant; model.run computes what cannot be compiled op by op',
      });
    }
  }

  #namesOf(from: bigint): string[] {
    return this.#open.filter((_, i) => (from >> BigInt(i)) & 1n).map(({ name }) => name);
  }

  #named(from: bigint): string {
    return this.#namesOf(from).map(shown).join(', ') || 'what is computed';
  }

  run(inputs: Readonly<Record<string, Input>>, options?: RunOptions): Record<string, Tensor> {
    const op = 'onnx.run';
    const { onNode } = readOptions(op, options, RUN);
    this.#checkNames(op, inputs);
    const sizes = new Map<string, number>();
    return tidy(() => {
      const values = this.#open.map((info) => this.#entered(op, info, inputs[info.name], false, sizes));
      while (!this.#machine.isEager && !onNode) {
        try {
          return this.#compiled(values);
        } catch (cause) {
          if (!(cause instanceof UnknownElements)) throw cause;
          const more = this.#namesOf(cause.value.from).filter((name) => !this.#forms.has(name));
          for (const name of more) this.#forms.add(name);
          this.#machine.isEager = more.length === 0;
        }
      }
      return this.#execute(this.params, values, onNode) as Record<string, Tensor>;
    });
  }

  /** The results of the program for values of these shapes. Inputs that decide shapes are constants of the program. */
  #compiled(values: readonly Value[]): Record<string, Tensor> {
    const fixed = values.map((value, i) => (this.#forms.has(this.#open[i]!.name) ? known(value.type, value.shape, value.elements) : null));
    const key = JSON.stringify(fixed.map((value) => value && [value.shape, Array.from(value.host as ArrayLike<number>, String)]));
    let program = this.#programs.get(key);
    if (!program) {
      const f = (params: Params, given: Record<string, Tensor>): Record<string, Tensor> => {
        const all = values.map(({ type }, i) => (fixed[i] ? known(type, fixed[i]!.shape, fixed[i]!.host!) : made(type, given[this.#open[i]!.name]!)));
        return this.#execute(params, all) as Record<string, Tensor>;
      };
      program = jit(f);
      this.#programs.set(key, program);
      if (this.#programs.size > MOST_PROGRAMS) this.#evict();
    }
    const given = Object.fromEntries(values.flatMap((value, i) => (fixed[i] ? [] : [[this.#open[i]!.name, value.t]])));
    return program(this.params, given);
  }

  #evict(): void {
    for (const [key, program] of this.#programs) {
      program.dispose();
      this.#programs.delete(key);
      return;
    }
  }

  save(params: Params): Uint8Array<ArrayBuffer> {
    this.#checkParams('onnx.save', params);
    const patches: Patch[] = this.#plan.initials.flatMap(({ proto }) => (this.#slots.has(proto.name) ? [{ proto, tensor: params[proto.name]! }] : []));
    return patched(this.#proto.bytes, patches);
  }

  dispose(): void {
    for (const t of Object.values(this.params)) t.dispose();
    this.#disposeConstants();
    for (const program of this.#programs.values()) program.dispose();
    this.#programs.clear();
  }
}

/** The element type for a dtype that was given, if the file does not say. */
const typeFor = (dtype: string): number => ({ float32: 1, uint8: 2, int8: 3, int32: 7, bool: 9, float16: 10, float64: 11, bfloat16: 16 })[dtype] ?? 1;

/** Loads a model from the bytes of an .onnx file, or a part of one. The bytes stay the caller's and must not change. */
export function load(bytes: Uint8Array | ArrayBuffer, options?: LoadOptions): Model {
  const op = 'onnx.load';
  const { external = {}, inputs = null, outputs = null, accuracy = 0 } = readOptions<LoadOptions>(op, options, { external: 'object', inputs: 'any', outputs: 'any', accuracy: 'integer' });
  const proto = readModel(asBytes(op, bytes));
  return new LoadedModel(inputs || outputs ? { ...proto, graph: partOf(op, proto.graph, inputs, outputs) } : proto, external, accuracy);
}

