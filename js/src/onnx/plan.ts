// Links a graph into a plan: nodes in order as steps over numbered values, with functions inlined. Each name is resolved once,
// here, so that cycles, missing inputs, names given twice and unsupported ops are errors at load time.
//
// Nodes, functions and graphs within nodes wait on a stack of frames, without recursion.

import { internals, SinterError, UnsupportedError, type Tensor } from '../index.js';
import type { AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto } from './model.js';
import { readElements, type Elements, type Source } from './tensors.js';
import { known, Value } from './value.js';

const { damagedError, shown } = internals;

/** The most steps of a plan after inlining, since a tiny file may expand to any number. */
const MOST_STEPS = 200_000;
const LEAST_OPSET = 1;
const MOST_OPSET = 28;

/** A tensor as a result gets the type of the op's first input. */
type Result = Value | Tensor;

/** An op: how to compute its outputs, in a few lines over the public functions of the package. */
export interface Op {
  /** The first opset with these semantics. */
  since: number;
  run: (n: Node, ...x: Value[]) => Result | readonly Result[];
  /** Inputs whose elements decide the form of the program (shapes, axes). Weights that only such inputs read are not
   *  parameters. */
  forms?: readonly number[];
  /** The same for single numbers: whether this value at this input decides the form. */
  isForm?: (input: number, value: number) => boolean;
  /** For ops made while linking: a text that, with its node's attributes, identifies what the op computes. */
  form?: string;
  /** Computes what can be computed from weights once, when a file is loaded; null if run has to use the weights in each
   *  call. */
  prepare?: (step: Step, weights: Weights) => Prepared | null;
}

/** The weight of the file at an input, if there is one. It lives until the end of the enclosing tidy. */
export type Weights = (input: number) => Tensor | undefined;

/** A replacement for run that uses `tensors` instead of the inputs 1 to behind - 1. */
export interface Prepared {
  run: Op['run'];
  behind: number;
  tensors: readonly Tensor[];
}

export type OpTable = Readonly<Record<string, Op>>;

export interface Step {
  /** Index of its node in the model's graph; for a node within a function, that of the calling node. */
  number: number;
  node: Node;
  op: Op;
  /** Slots of values; -1: not given. */
  inputs: number[];
  outputs: number[];
  /** Slots of outer values that its graphs use. */
  captures: Set<number>;
}

/** An initializer and the slot of its value. */
export interface Initial {
  slot: number;
  proto: TensorProto;
}

export interface Plan {
  name: string;
  steps: Step[];
  inputs: number[];
  outputs: number[];
  initials: Initial[];
}

/** What all plans of a model share. */
export interface Machine {
  values: (Value | undefined)[];
  source: Source;
  /** The accuracy_level of MatMulNBits nodes that have none. */
  accuracy: number;
  /** true if the model runs op by op, so every value can be read. */
  isEager: boolean;
  /** Runs the plan of a graph within a node. */
  call: (plan: Plan, args: readonly Value[]) => Value[];
}

/** A node and its attributes. */
export class Node {
  readonly type: string;
  readonly name: string;
  readonly opset: number;
  /** The number of outputs the file asks for: up to the last one with a name. */
  outputs = 0;
  readonly machine: Machine;
  readonly #attributes: ReadonlyMap<string, AttributeProto>;
  readonly #plans = new Map<string, Plan>();
  #constant: Elements | null = null;

  constructor(proto: NodeProto, opset: number, attributes: ReadonlyMap<string, AttributeProto>, machine: Machine) {
    this.type = proto.type;
    this.name = proto.name;
    this.opset = opset;
    this.machine = machine;
    this.#attributes = attributes;
  }

  /** The node as error messages call it. */
  get where(): string {
    return `${this.type}${this.name && ` ${shown(this.name)}`}`;
  }

  /** Its op and attributes as a text, equal for equal nodes. */
  get form(): string {
    return JSON.stringify([this.type, ...this.#attributes]);
  }

  fail(text: string): SinterError {
    return new SinterError('argument', 'onnx', `${this.where}: ${text}`);
  }

  has(name: string): boolean {
    return this.#attributes.has(name);
  }

  int(name: string, otherwise = 0): number {
    return this.#attributes.get(name)?.int ?? otherwise;
  }

  flag(name: string, otherwise = false): boolean {
    return this.int(name, Number(otherwise)) !== 0;
  }

  float(name: string, otherwise = 0): number {
    return this.#attributes.get(name)?.float ?? otherwise;
  }

  text(name: string, otherwise = ''): string {
    return this.#attributes.get(name)?.text ?? otherwise;
  }

  ints(name: string): number[] | undefined {
    return this.#attributes.get(name)?.ints;
  }

  floats(name: string): number[] | undefined {
    return this.#attributes.get(name)?.floats;
  }

  texts(name: string): string[] | undefined {
    return this.#attributes.get(name)?.texts;
  }

  /** The tensor attribute of a node that has only one; its elements are read once. */
  tensor(name: string): Value | undefined {
    const proto = this.#attributes.get(name)?.tensor;
    if (!proto) return undefined;
    this.#constant ??= readElements(proto, this.machine.source);
    return known(proto.type, proto.dims, this.#constant);
  }

  /** The elements of a tensor attribute, for ops of ai.onnx.ml that have several. */
  elements(name: string): Elements | undefined {
    const proto = this.#attributes.get(name)?.tensor;
    return proto && readElements(proto, this.machine.source);
  }

  setPlan(name: string, plan: Plan): void {
    this.#plans.set(name, plan);
  }

  plan(name: string): Plan {
    const found = this.#plans.get(name);
    if (!found) throw this.fail(`there is no graph ${shown(name)}`);
    return found;
  }

  /** Runs a graph of this node. */
  call(plan: Plan, args: readonly Value[]): Value[] {
    return this.machine.call(plan, args);
  }
}

/** The names that a graph or a function defines, and their slots. */
class Scope {
  readonly names = new Map<string, number>();
  readonly outer: Scope | null;
  /** The slots of outer names that were found from this scope. */
  readonly captures: Set<number>;

  constructor(outer: Scope | null, captures = new Set<number>()) {
    this.outer = outer;
    this.captures = captures;
  }

  find(name: string): number | undefined {
    const crossed: Scope[] = [];
    for (let each: Scope | null = this; each; each = each.outer) {
      const slot = each.names.get(name);
      if (slot !== undefined) {
        for (const scope of crossed) scope.captures.add(slot);
        return slot;
      }
      crossed.push(each);
    }
    return undefined;
  }
}

/** Nodes that are being linked, and what to do after the last one. */
interface Frame {
  nodes: readonly NodeProto[];
  at: number;
  scope: Scope;
  plan: Plan;
  opsets: ReadonlyMap<string, number>;
  /** In a function, the number for all its steps, that of the call; null outside. */
  number: number | null;
  /** In a function, the attributes of the call; null outside. */
  given: ReadonlyMap<string, AttributeProto> | null;
  /** The functions being inlined, the innermost last. */
  calls: readonly FunctionProto[];
  done: () => void;
}

/** The name of an op, with its domain if that is not ONNX's own. */
export const keyOf = ({ domain, type }: { domain: string; type: string }): string => (domain ? `${domain}.${type}` : type);
const functionKey = (domain: string, name: string, overload: string): string => JSON.stringify([domain, name, overload]);

class Linker {
  readonly #ops: OpTable;
  readonly #machine: Machine;
  readonly #functions = new Map<string, FunctionProto>();
  readonly #missing = new Map<string, string[]>();
  readonly #frames: Frame[] = [];
  readonly plans: Plan[] = [];
  #steps = 0;

  constructor(model: ModelProto, ops: OpTable, machine: Machine) {
    this.#ops = ops;
    this.#machine = machine;
    for (const f of model.functions) {
      const key = functionKey(f.domain, f.name, f.overload);
      if (this.#functions.has(key)) throw damagedError('onnx', `function ${shown(f.name)} is given twice`);
      this.#functions.set(key, f);
    }
  }

  run(model: ModelProto): void {
    this.#enter(model.graph, new Scope(null), model.opsets, null, null, []);
    for (let frame; (frame = this.#frames.at(-1)); ) {
      if (frame.at === frame.nodes.length) {
        this.#frames.pop();
        frame.done();
      } else this.#link(frame, frame.nodes[frame.at++]!);
    }
    this.#refuseMissing();
  }

  #slot(): number {
    return this.#machine.values.push(undefined) - 1;
  }

  #define(scope: Scope, name: string, what: string): number {
    if (scope.names.has(name)) throw damagedError('onnx', `${what} ${shown(name)} is given twice`);
    const slot = this.#slot();
    scope.names.set(name, slot);
    return slot;
  }

  /** Makes the plan of a graph, and pushes a frame with its nodes. */
  #enter(graph: GraphProto, scope: Scope, opsets: ReadonlyMap<string, number>, number: Frame['number'], given: Frame['given'], calls: Frame['calls']): Plan {
    const plan: Plan = { name: graph.name, steps: [], inputs: [], outputs: [], initials: [] };
    this.plans.push(plan);
    for (const proto of graph.initializers) plan.initials.push({ slot: this.#define(scope, proto.name, 'tensor'), proto });
    const names = new Set<string>();
    for (const { name } of graph.inputs) {
      if (names.has(name)) throw damagedError('onnx', `input ${shown(name)} is given twice`);
      names.add(name);
      // Old files list initializers among the inputs, too.
      const isInitial = scope.names.has(name);
      if (!isInitial) plan.inputs.push(this.#define(scope, name, 'input'));
    }
    const done = (): void => {
      plan.outputs = graph.outputs.map(({ name }) => this.#find(scope, name, `output of graph ${shown(graph.name)}`));
    };
    this.#frames.push({ nodes: graph.nodes, at: 0, scope, plan, opsets, number, given, calls, done });
    return plan;
  }

  #find(scope: Scope, name: string, what: string): number {
    const slot = scope.find(name);
    if (slot !== undefined) return slot;
    throw damagedError('onnx', `${what}: nothing before it computes ${shown(name)}`);
  }

  /** The attributes of a node. Those that refer to an attribute of the enclosing function take the value that the call gave. */
  #attributes(node: NodeProto, given: Frame['given']): Map<string, AttributeProto> {
    const found = new Map<string, AttributeProto>();
    for (const attribute of node.attributes) {
      if (found.has(attribute.name)) throw damagedError('onnx', `attribute ${shown(attribute.name)} of ${node.type} is given twice`);
      const value = attribute.refersTo ? given?.get(attribute.refersTo) : attribute;
      if (value) found.set(attribute.name, value);
    }
    return found;
  }

  #link(frame: Frame, proto: NodeProto): void {
    if (++this.#steps > MOST_STEPS) throw new UnsupportedError('onnx', `more than ${MOST_STEPS} nodes, functions put in their place`);
    const what = `${proto.type}${proto.name && ` ${shown(proto.name)}`}`;
    const inputs = proto.inputs.map((name) => (name ? this.#find(frame.scope, name, what) : -1));
    const attributes = this.#attributes(proto, frame.given);
    const called = this.#functions.get(functionKey(proto.domain, proto.type, proto.overload));
    if (called) return this.#inline(frame, proto, called, inputs, attributes);
    const opset = frame.opsets.get(proto.domain) ?? 0;
    const key = keyOf(proto);
    const op = Object.hasOwn(this.#ops, key) ? this.#ops[key]! : null;
    if (!op || (proto.domain === '' && opset < op.since)) {
      const list = this.#missing.get(op ? `${key} before opset ${op.since}` : key) ?? [];
      this.#missing.set(op ? `${key} before opset ${op.since}` : key, list);
      list.push(proto.name || (proto.outputs[0] ?? ''));
    }
    const node = new Node(proto, opset, attributes, this.#machine);
    const captures = new Set<number>();
    const number = frame.number ?? proto.number;
    const step: Step = { number, node, op: op ?? { since: 0, run: () => [] }, inputs, outputs: [], captures };
    for (const [name, { graph }] of attributes) {
      if (graph) node.setPlan(name, this.#enter(graph, new Scope(frame.scope, captures), frame.opsets, number, frame.given, frame.calls));
    }
    step.outputs = proto.outputs.map((name) => (name ? this.#define(frame.scope, name, 'value') : -1));
    node.outputs = step.outputs.reduce((last, slot, i) => (slot >= 0 ? i + 1 : last), 0);
    frame.plan.steps.push(step);
  }

  /** Pushes the nodes of a function, to be linked in place of the call. */
  #inline(frame: Frame, proto: NodeProto, f: FunctionProto, inputs: readonly number[], attributes: Map<string, AttributeProto>): void {
    if (frame.calls.includes(f)) throw damagedError('onnx', `function ${shown(f.name)} calls itself`);
    if (frame.calls.length >= 64) throw new UnsupportedError('onnx', 'functions that call functions, more than 64 deep');
    const scope = new Scope(null);
    f.inputs.forEach((name, i) => scope.names.set(name, inputs[i] ?? -1));
    for (const each of f.defaults) if (!attributes.has(each.name)) attributes.set(each.name, each);
    const done = (): void => {
      proto.outputs.forEach((name, i) => {
        if (!name) return;
        if (frame.scope.names.has(name)) throw damagedError('onnx', `value ${shown(name)} is given twice`);
        frame.scope.names.set(name, this.#find(scope, f.outputs[i] ?? '', `function ${shown(f.name)}`));
      });
    };
    this.#frames.push({ nodes: f.nodes, at: 0, scope, plan: frame.plan, opsets: f.opsets, number: frame.number ?? proto.number, given: attributes, calls: [...frame.calls, f], done });
  }

  #refuseMissing(): void {
    if (this.#missing.size === 0) return;
    const texts = [...this.#missing].map(([key, nodes]) => `${key} (${nodes.slice(0, 20).map(shown).join(', ')}${nodes.length > 20 ? `, and ${nodes.length - 20} more` : ''})`);
    throw new UnsupportedError('onnx', `ops that are not known: ${texts.join('; ')}`, { hint: 'docs/onnx.md lists the ops' });
  }
}

/** The plan of a model's graph, followed by the plans of graphs within nodes. */
export function link(model: ModelProto, ops: OpTable, machine: Machine): readonly Plan[] {
  const opset = model.opsets.get('') ?? 0;
  const usesOps = model.graph.nodes.length > 0 && model.opsets.has('');
  if (usesOps && (opset < LEAST_OPSET || opset > MOST_OPSET))
    throw new UnsupportedError('onnx', `the file is of opset ${opset}, expected ${LEAST_OPSET} to ${MOST_OPSET}`);
  const linker = new Linker(model, ops, machine);
  linker.run(model);
  return linker.plans;
}
