// Loops and conditions: a call whose functions are the regions of the graph, which see the values around them.

import type { Binding, Block } from './block.js';
import { numberAttr, typeText, type Graph, type GraphNode } from './graph.js';
import type { Names } from './names.js';
import { fullText, optionsText } from './spell.js';

const CONTROL = new Set(['scan', 'while_loop', 'cond']);

export const isControl = ({ op }: GraphNode): boolean => CONTROL.has(op);

const indented = (lines: readonly string[]): string => lines.map((line) => line.replace(/^(?=.)/gm, '  ')).join('\n');

/** Nothing, a value, or several in an array. */
const tree = (texts: readonly string[]): string => (texts.length === 0 ? 'null' : texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);

/** The same of names to be given; null: nobody reads that one. */
function pattern(names: readonly (string | null)[]): string {
  const last = names.reduce((found, name, i) => (name === null ? found : i), -1);
  if (last < 0) return '_';
  return names.length === 1 ? names[0]! : `[${names.slice(0, last + 1).map((name) => name ?? '').join(', ')}]`;
}

/** Longest text that a function returns without names. */
const MOST_RETURNED = 90;

interface Written {
  text: string;
  /** Texts of what it returns. */
  outputs: string[];
}

interface Region {
  graph: Graph;
  names: Names;
  parameters: string;
  bindings: readonly Binding[];
  /** Names for what it returns. */
  hints?: readonly string[];
}

/** A function of the region with the given parameters. */
function functionText(outer: Block, { graph, names, parameters, bindings, hints = [] }: Region, result: (outputs: string[]) => string): Written {
  const known = new Map(hints.map((hint, i) => [graph.outputs[i]!, hint]));
  const write = (named: boolean): Written & { lines: string[]; returned: string } => {
    const block = outer.inner(graph, names.inner(), bindings, known);
    const outputs = block.write(named);
    return { outputs, lines: block.lines, returned: result(outputs), text: '' };
  };
  const short = write(false);
  const { outputs, lines, returned } = short.returned.length > MOST_RETURNED ? write(true) : short;
  if (lines.length === 0) return { text: `(${parameters}) => ${returned}`, outputs };
  return { text: `(${parameters}) => {\n${indented([...lines, `return ${returned};`])}\n}`, outputs };
}

/** The name of an element of what has this name. */
const elementName = (text: string): string => {
  const word = /([A-Za-z_$][\w$]*)$/.exec(text)?.[1] ?? 'x';
  return /[^s]s\d*$/.test(word) ? word.replace(/s(\d*)$/, '$1') : `${word}t`;
};

interface Statement {
  outer: Block;
  node: GraphNode;
  /** By a result's number: the name of what reads it, or null. */
  results: (string | null)[];
  regions: Graph[];
}

/** Inputs from the given one on as a region sees them. */
const captured = ({ outer, node }: Statement, first: number): Binding[] =>
  node.inputs.slice(first).map((id) => {
    const constant = outer.constant(id);
    return constant ? { constant } : { text: outer.text(id) };
  });

/** The text of an input: a value, as the loop begins with or walks along. */
const given = (outer: Block, id: number): string => {
  const constant = outer.constant(id);
  return constant ? fullText(constant) : outer.text(id);
};

const isRead = (region: Graph, number: number): boolean =>
  region.nodes.some((node, id) => node.op === 'input' && numberAttr(node, 'number') === number &&
    (region.outputs.includes(id) || region.nodes.some(({ inputs }) => inputs.includes(id))));

/** Names for carries: those of the results, or of what they begin with. */
function carryNames({ outer, node, results }: Statement, names: Names, count: number): string[] {
  return node.inputs.slice(0, count).map((id, k) => {
    const begin = outer.constant(id) ? '' : (/^([A-Za-z_$][\w$]*?)0?$/.exec(outer.text(id))?.[1] ?? '');
    const reverse = node.op === 'scan' && numberAttr(node, 'reverse') === 1;
    return names.claim(results[k] ?? (begin || (reverse ? 'ct' : 'carry')));
  });
}

const text = (name: string): Binding => ({ text: name });

/** What slices of a body are called together. */
const stackName = (text: string): string => (/^[A-Za-z_$][\w$]*$/.test(text) ? `${text.replace(/Next$/, '')}s` : 'ys');

function scanText(statement: Statement): Written {
  const { outer, node, results, regions: [body] } = statement;
  const [carries, stacks, length] = ['carries', 'stacks', 'length'].map((name) => numberAttr(node, name)) as [number, number, number];
  const names = outer.names.inner(results.filter((name) => name !== null));
  const init = node.inputs.slice(0, carries).map((id) => given(outer, id));
  const xs = node.inputs.slice(carries, carries + stacks).map((id) => given(outer, id));
  const carry = carryNames(statement, names, carries);
  const slices = xs.map((stack, k) => (isRead(body!, carries + k) ? names.claim(elementName(stack)) : null));
  const bindings = [...carry, ...slices.map((name) => name ?? '')].map(text).concat(captured(statement, carries + stacks));
  const region = { graph: body!, names, bindings, hints: carry.map((name) => `${name}Next`) };
  const reverse = numberAttr(node, 'reverse') ? 'true' : undefined;
  if (carries === 0 && stacks > 0 && !reverse) {
    const f = functionText(outer, { ...region, parameters: pattern(slices) }, tree);
    return { ...f, text: `sn.map(${f.text}, ${tree(xs)})` };
  }
  const result = (outputs: string[]): string => `[${tree(outputs.slice(0, carries))}, ${tree(outputs.slice(carries))}]`;
  const state = carries === 0 ? '_' : pattern(carry);
  const parameters = stacks === 0 ? state : `${state}, ${pattern(slices)}`;
  const options = optionsText({ length: stacks === 0 ? String(length) : undefined, reverse });
  const f = functionText(outer, { ...region, parameters }, result);
  return { ...f, text: `sn.scan(${[f.text, tree(init), tree(xs), ...(options ? [options] : [])].join(', ')})` };
}

function whileText(statement: Statement): Written {
  const { outer, node, results, regions } = statement;
  const carries = numberAttr(node, 'carries');
  const init = node.inputs.slice(0, carries).map((id) => given(outer, id));
  const functions = [regions[1]!, regions[0]!].map((graph, k) => {
    const names = outer.names.inner(results.filter((name) => name !== null));
    const carry = carryNames(statement, names, carries);
    const read = carry.map((name, i) => (k || isRead(graph, i) ? name : null));
    const bindings = [...carry.map(text), ...captured(statement, carries)];
    return functionText(outer, { graph, names, parameters: pattern(read), bindings, hints: k ? carry.map((name) => `${name}Next`) : [] }, tree);
  });
  return { text: `sn.whileLoop(${functions.map((f) => f.text).join(', ')}, ${tree(init)})`, outputs: [] };
}

function condText(statement: Statement): Written {
  const { outer, node, regions } = statement;
  const branches = regions.map((graph) =>
    functionText(outer, { graph, names: outer.names.inner(), parameters: '', bindings: captured(statement, 1) }, tree));
  return { text: `sn.cond(${[given(outer, node.inputs[0]!), ...branches.map((f) => f.text)].join(', ')})`, outputs: [] };
}

const REGIONS: Readonly<Record<string, readonly string[]>> = { scan: ['body'], while_loop: ['body', 'test'], cond: ['on_true', 'on_false'] };

/** Writes a node of control flow, and names its results. */
export function control(outer: Block, node: GraphNode, id: number): void {
  const regions = REGIONS[node.op]!.map((name) => outer.graph.regions[numberAttr(node, name)]!);
  const readers = outer.graph.nodes.flatMap(({ op, inputs }, reader) => (op === 'result' && inputs[0] === id ? [reader] : []));
  const results = regions[0]!.outputs.map((): string | null => null);
  const carries = node.op === 'scan' ? numberAttr(node, 'carries') : 0;
  const numberOf = (reader: number): number => numberAttr(outer.graph.nodes[reader]!, 'number');
  const name = (reader: number, wanted: string): void => {
    const claimed = outer.names.claim(outer.hint(reader) ?? wanted);
    results[numberOf(reader)] = claimed;
    outer.setText(reader, claimed);
  };
  // Stacks are called after what the body makes them of.
  const isStack = (reader: number): boolean => node.op === 'scan' && numberOf(reader) >= carries;
  for (const reader of readers) if (!isStack(reader)) name(reader, 'last');
  const made = WRITERS[node.op]!({ outer, node, results, regions });
  for (const reader of readers) if (isStack(reader)) name(reader, stackName(made.outputs[numberOf(reader)]!));
  const isPair = node.op === 'scan' && !made.text.startsWith('sn.map');
  const parts = [results.slice(0, carries), results.slice(carries)].map((each) => (each.some((one) => one !== null) ? pattern(each) : null));
  const target = !isPair ? pattern(results) : `[${parts[1] === null ? parts[0] : `${parts[0] ?? ''}, ${parts[1]}`}]`;
  const types = readers.map((reader) => typeText(outer.graph.nodes[reader]!));
  outer.lines.push(`const ${target} = ${made.text}; // ${types.join(', ')}`);
}

const WRITERS: Readonly<Record<string, (statement: Statement) => Written>> = { scan: scanText, while_loop: whileText, cond: condText };
