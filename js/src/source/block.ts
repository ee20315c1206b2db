// Writes the statements of one function: a graph in a readable order, with one named value per line.
//
// A value gets a name if it is read twice, or if its text would make a line too long; other values are inlined where they are
// read. Deep operands come first, so that a derivative begins with the function that it derives; everything else comes as late
// as possible.

import { adjoints } from './adjoints.js';
import { control, inputsOf, isControl } from './control.js';
import { numberAttr, typeText, type Constant, type Graph, type GraphNode } from './graph.js';
import { nameOfOp, type Names } from './names.js';
import { spell, type HelperName, type Site, type Spelling } from './spell.js';

/** What an input node of a graph stands for. */
export type Binding = { text: string } | { constant: Constant };

/** The longest text of an unnamed value, and the most calls in it; the longest text of a statement with inlined values. */
const MOST_TEXT = 60;
const MOST_CALLS = 4;
const MOST_LINE = 84;

const isName = (text: string): boolean => /^[\w$.]+$/.test(text);

/** Views of named values, and ranges, are repeated rather than named. */
const AGAIN = /^[\w$.]+(?:\.(?:transpose|expandDims|squeeze|swapaxes|take|iota|arange|eye)\([\w, [\]]*\))?$/;

export class Block {
  readonly graph: Graph;
  readonly names: Names;
  readonly lines: string[] = [];
  /** For each node its readers, once per read. */
  readonly readers: number[][];
  readonly #helpers: Set<HelperName>;
  readonly #bindings: readonly Binding[];
  readonly #hints: ReadonlyMap<number, string>;
  readonly #saved: ReadonlyMap<number, string>;
  readonly #constants: (Constant | null)[];
  readonly #spellings = new Map<number, Spelling>();
  readonly #texts = new Map<number, string>();
  readonly #reads: number[];
  readonly #named = new Set<number>();
  readonly #site: Site;
  readonly #adjoints: ReadonlyMap<number, number>;

  /** bindings: by the number of an input node. hints: names for nodes about which something is known. saved: nodes that are
   *  saved under names (sn.saveAs). */
  constructor(
    graph: Graph,
    names: Names,
    helpers: Set<HelperName>,
    bindings: readonly Binding[],
    hints: ReadonlyMap<number, string>,
    saved: ReadonlyMap<number, string> = new Map(),
  ) {
    this.graph = graph;
    this.names = names;
    this.#helpers = helpers;
    this.#bindings = bindings;
    this.#hints = hints;
    this.#saved = saved;
    this.#constants = graph.nodes.map(() => null);
    graph.nodes.forEach((node, id) => (this.#constants[id] = this.#constantOf(node)));
    this.#reads = graph.nodes.map(() => 0);
    this.readers = graph.nodes.map(() => []);
    graph.nodes.forEach(({ inputs }, reader) => inputs.forEach((id) => this.readers[id]!.push(reader)));
    this.#adjoints = adjoints(graph, this.readers);
    this.#site = {
      graph,
      isOwn: (id) => this.readers[id]!.length === 1 && !graph.outputs.includes(id),
      depth: this.#depth(),
      constant: (id) => this.#constants[id]!,
      helper: (name) => {
        helpers.add(name);
        return name;
      },
    };
  }

  #constantOf({ op, inputs, attrs, dtype, shape }: GraphNode): Constant | null {
    if (op === 'constant') return { value: Number(attrs['value']), dtype, shape };
    if (op === 'broadcast' || op === 'reshape') {
      const inner = this.#constants[inputs[0]!];
      return inner ? { ...inner, shape } : null;
    }
    const binding = op === 'input' ? this.#bindings[numberAttr({ attrs } as GraphNode, 'number')] : undefined;
    return binding && 'constant' in binding ? binding.constant : null;
  }

  #depth(): number[] {
    const depth: number[] = [];
    for (const { inputs } of this.graph.nodes) depth.push(Math.max(0, ...inputs.map((id) => depth[id]! + 1)));
    return depth;
  }

  /** A block for a region of this block's graph. */
  inner(region: Graph, names: Names, bindings: readonly Binding[], hints: ReadonlyMap<number, string>, saved?: ReadonlyMap<number, string>): Block {
    return new Block(region, names, this.#helpers, bindings, hints, saved);
  }

  hint(id: number): string | undefined {
    return this.#hints.get(id);
  }

  constant(id: number): Constant | null {
    return this.#constants[id]!;
  }

  /** The text of a value that is written already. */
  text(id: number): string {
    return this.#texts.get(id)!;
  }

  setText(id: number, text: string): void {
    this.#texts.set(id, text);
  }

  #spelling(id: number): Spelling {
    let spelling = this.#spellings.get(id);
    if (!spelling) this.#spellings.set(id, (spelling = this.#spell(id)));
    return spelling;
  }

  #spell(id: number): Spelling {
    const node = this.graph.nodes[id]!;
    if (node.op === 'input' && !this.#constants[id]) {
      const { text } = this.#bindings[numberAttr(node, 'number')] as { text: string };
      return { reads: [], write: () => text };
    }
    if (node.op === 'result') return { reads: node.inputs, write: () => this.text(id) };
    if (!isControl(node)) return spell(this.#site, id);
    const { given, seen } = inputsOf(this.graph, node);
    return { reads: [...given, ...seen].filter((each) => !this.#constants[each]), write: () => '' };
  }

  /** The values that the outputs need, in the order in which to write them. Counts the reads of each value. */
  #order(): number[] {
    const state = new Map<number, 'open' | 'done'>();
    const order: number[] = [];
    const stack = [...this.graph.outputs].reverse();
    while (stack.length > 0) {
      const id = stack.pop()!;
      if (state.get(id) === 'done') continue;
      if (state.get(id) === 'open') {
        state.set(id, 'done');
        order.push(id);
        continue;
      }
      state.set(id, 'open');
      stack.push(id);
      const { reads } = this.#spelling(id);
      for (const read of reads) this.#reads[read]!++;
      const { depth } = this.#site;
      const next = reads.map((read, i) => ({ read, i })).sort((a, b) => depth[a.read]! - depth[b.read]! || b.i - a.i);
      for (const { read } of next) if (!state.has(read)) stack.push(read);
    }
    for (const id of this.graph.outputs) this.#reads[id]!++;
    return order;
  }

  /** Writes all statements; returns the texts of the outputs. */
  write(): string[] {
    const order = this.#order();
    for (const id of order) {
      const node = this.graph.nodes[id]!;
      if (isControl(node)) for (const read of inputsOf(this.graph, node).seen) this.#named.add(read);
    }
    for (const id of order) {
      const node = this.graph.nodes[id]!;
      if (isControl(node)) control(this, node, id);
      else this.#writeValue(id, node);
    }
    return this.graph.outputs.map((id) => this.text(id));
  }

  #writeValue(id: number, node: GraphNode): void {
    const { reads, write } = this.#spelling(id);
    const compose = (): string => write(reads.map((read) => this.text(read)));
    let text = compose();
    while (text.length > MOST_LINE) {
      const longest = reads.reduce((a, b) => (this.#length(b) > this.#length(a) ? b : a), reads[0] ?? id);
      if (this.#length(longest) === 0) break;
      this.#name(longest, this.text(longest));
      text = compose();
    }
    const saved = this.#saved.get(id);
    if (saved !== undefined) return this.#name(id, `sn.saveAs(${text}, '${saved}')`);
    this.#texts.set(id, text);
    if (node.op === 'result' || node.op === 'input') return;
    const isShort = text.length <= MOST_TEXT && text.split('(').length - 1 <= MOST_CALLS;
    const isAgain = this.#constants[id] !== null || AGAIN.test(text);
    if (isAgain || (this.#reads[id] === 1 && isShort && !this.#named.has(id))) return;
    this.#name(id, text);
  }

  /** The length of a value's text; 0 if naming it would not help, or it is a constant. */
  #length(id: number): number {
    const text = this.#texts.get(id) ?? '';
    return this.#constants[id] || AGAIN.test(text) ? 0 : text.length;
  }

  #name(id: number, text: string): void {
    const name = this.names.claim(this.#hints.get(id) ?? this.#wanted(id));
    this.#texts.set(id, name);
    this.lines.push(`const ${name} = ${text}; // ${typeText(this.graph.nodes[id]!)}`);
  }

  /** Names the outputs for which there are hints; returns the texts of all outputs. */
  nameOutputs(): string[] {
    return this.graph.outputs.map((id) => {
      if (this.#hints.has(id) && !isName(this.text(id))) this.#name(id, this.text(id));
      return this.text(id);
    });
  }

  /** A name after the op that makes the value, or d... for a derivative. A product with a bias is named like the product. */
  #wanted(id: number): string {
    const of = this.#adjoints.get(id);
    if (of !== undefined) {
      const name = this.#texts.get(of) ?? '';
      return `d${isName(name) && !name.includes('.') ? name : this.#wanted(of)}`;
    }
    const { op, inputs } = this.graph.nodes[id]!;
    const isBiased = op === 'add' && inputs.some((each) => ['matmul', 'conv'].includes(this.graph.nodes[each]!.op));
    return isBiased ? 'z' : nameOfOp(op);
  }
}
