// Writes loops, conditions and functions: calls whose functions are the regions of the graph, which also see the outer values.

import type { Binding, Block } from './block.js';
import { numberAttr, typeText, type Graph, type GraphNode } from './graph.js';
import { lastWord, type Names } from './names.js';
import { fullText, optionsText } from './spell.js';

const REGIONS: Readonly<Record<string, readonly string[]>> = {
  scan: ['body'], while_loop: ['body', 'test'], cond: ['on_true', 'on_false'], checkpoint: ['body'], custom: ['body', 'rule'],
};

export const isControl = ({ op }: GraphNode): boolean => op in REGIONS;

const regionsOf = (graph: Graph, node: GraphNode): Graph[] => REGIONS[node.op]!.map((name) => graph.regions[numberAttr(node, name)]!);

/** For each input of a region, by number, whether the region reads it. */
function readsOf(region: Graph): boolean[] {
  const read = new Set([...region.outputs, ...region.nodes.flatMap(({ inputs }) => inputs)]);
  const reads: boolean[] = [];
  region.nodes.forEach((node, id) => node.op === 'input' && (reads[numberAttr(node, 'number')] = read.has(id)));
  return reads;
}

/** How many inputs are read by the node itself. Only the regions see the others. */
const COUNT_GIVEN: Readonly<Record<string, (node: GraphNode) => number>> = {
  scan: (node) => numberAttr(node, 'carries') + numberAttr(node, 'stacks'),
  while_loop: (node) => numberAttr(node, 'carries'),
  cond: () => 1,
  checkpoint: ({ inputs }) => inputs.length,
  custom: (node) => numberAttr(node, 'arguments'),
};

/** The values that a node of control flow reads itself (given), and the outer values that its regions use (seen). */
export function inputsOf(graph: Graph, node: GraphNode): { given: number[]; seen: number[] } {
  const first = COUNT_GIVEN[node.op]!(node);
  const reads = regionsOf(graph, node).map(readsOf);
  // The rule of a custom function has inputs for derivatives before those for the outer values.
  const numberIn = (i: number, region: number): number => {
    if (node.op === 'cond') return i - 1;
    return region === 1 && node.op === 'custom' ? i + derivativesGiven(graph, node).length : i;
  };
  const isSeen = (i: number): boolean => reads.some((each, region) => each[numberIn(i, region)]);
  const given = node.inputs.filter((_, i) => i < first && (node.op !== 'checkpoint' || isSeen(i)));
  return { given, seen: node.inputs.filter((_, i) => i >= first && isSeen(i)) };
}

const isFloat = ({ dtype }: GraphNode): boolean => /float/.test(dtype);

/** Which derivatives the rule of a custom function is given: indices of results in reverse mode, of arguments in forward
 *  mode. */
function derivativesGiven(graph: Graph, node: GraphNode): number[] {
  const [body] = regionsOf(graph, node) as [Graph];
  const of = numberAttr(node, 'reverse') ? body.outputs.map((id) => body.nodes[id]!) : node.inputs.slice(0, numberAttr(node, 'arguments')).map((id) => graph.nodes[id]!);
  return of.flatMap((leaf, i) => (isFloat(leaf) ? [i] : []));
}

const indented = (lines: readonly string[]): string => lines.map((line) => line.replace(/^(?=.)/gm, '  ')).join('\n');

/** null, one value, or several in an array. */
const tree = (texts: readonly string[]): string => (texts.length === 0 ? 'null' : texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);

/** The same as a pattern of names to be bound; a null is not read. */
function pattern(names: readonly (string | null)[]): string {
  const last = names.reduce((found, name, i) => (name === null ? found : i), -1);
  if (last < 0) return '_';
  return names.length === 1 ? names[0]! : `[${names.slice(0, last + 1).map((name) => name ?? '').join(', ')}]`;
}

/** The longest text that a function returns without naming its parts. */
const MOST_RETURNED = 90;
/** The longest text of arguments on the line of a function. */
const MOST_BEHIND = 60;

interface Written {
  text: string;
  /** The texts of the values it returns. */
  outputs: string[];
}

interface Region {
  graph: Graph;
  names: Names;
  parameters: string;
  bindings: readonly Binding[];
  /** Names for the values it returns. */
  hints?: readonly string[];
  /** Values that are saved under names. */
  saved?: ReadonlyMap<number, string>;
}

/** A function for the region with the given parameters. result: makes the returned text from the outputs. */
function functionText(outer: Block, { graph, names, parameters, bindings, hints = [], saved }: Region, result: (outputs: string[]) => string): Written {
  const block = outer.inner(graph, names, bindings, new Map(hints.map((hint, i) => [graph.outputs[i]!, hint])), saved);
  const { lines } = block;
  let outputs = block.write();
  if (result(outputs).length > MOST_RETURNED) outputs = block.nameOutputs();
  const returned = result(outputs);
  if (lines.length === 0) return { text: `(${parameters}) => ${returned}`, outputs };
  return { text: `(${parameters}) => {\n${indented([...lines, `return ${returned};`])}\n}`, outputs };
}

/** A call; if its arguments are long, each is on a line of its own. */
function callText(name: string, args: readonly string[]): string {
  const [first, ...others] = args;
  if (others.filter((arg) => !arg.includes('=>')).join(', ').length <= MOST_BEHIND) return `${name}(${args.join(', ')})`;
  return `${name}(\n${indented([first!, ...others].map((arg) => `${arg},`))}\n)`;
}

/** A name for an element of the value with this name. */
function elementName(text: string): string {
  const word = /([A-Za-z_$][\w$]*)$/.exec(text)?.[1] ?? 'x';
  if (/[^s]s\d*$/.test(word)) return word.replace(/s(\d*)$/, '$1');
  return /^[a-z]\d*$/.test(word) ? `${word}t` : `${word}Row`;
}

interface Statement {
  outer: Block;
  node: GraphNode;
  /** For each result, by number, the name of the node that reads it, or null. */
  results: (string | null)[];
  regions: Graph[];
}

/** Inputs from the given one on, as a region sees them. */
const captured = ({ outer, node }: Statement, first: number): Binding[] =>
  node.inputs.slice(first).map((id) => {
    const constant = outer.constant(id);
    return constant ? { constant } : { text: outer.text(id) };
  });

/** The text of an input that a loop starts with or iterates over; constants are written as tensors. */
const valueText = (outer: Block, id: number): string => {
  const constant = outer.constant(id);
  return constant ? fullText(constant) : outer.text(id);
};

/** Names for the first inputs as carries: 'y' for 'y0'. */
const startNames = (outer: Block, node: GraphNode, count: number): string[] =>
  node.inputs.slice(0, count).map((id) => {
    const begin = outer.constant(id) ? '' : (/^([A-Za-z_$][\w$]*?)0?$/.exec(outer.text(id))?.[1] ?? '');
    return begin || (node.op === 'scan' && numberAttr(node, 'reverse') ? 'ct' : 'state');
  });

/** Names for carries: those of their results, if these have names. */
const carryNames = ({ outer, node, results }: Statement, names: Names, count: number): string[] =>
  startNames(outer, node, count).map((wanted, k) => names.claim(results[k] ?? wanted));

const text = (name: string): Binding => ({ text: name });

/** [lo, hi] of a loop without stacks, or whose only stack is a range of whole numbers; otherwise null. */
function rangeOf({ outer, node }: Statement, carries: number, stacks: number, length: number): [number, number] | null {
  if (stacks === 0) return [0, length];
  const at = node.inputs[carries]!;
  const { op, dtype, inputs } = outer.graph.nodes[at]!;
  if (stacks > 1 || dtype !== 'int32') return null;
  if (op === 'iota') return [0, length];
  const [a, b] = op === 'add' ? inputs : [];
  const [index, lo] = a !== undefined && outer.constant(a) ? [b!, outer.constant(a)!] : [a, b === undefined ? null : outer.constant(b)];
  return lo && outer.graph.nodes[index!]!.op === 'iota' ? [lo.value, lo.value + length] : null;
}

/** A name for the stack of a value that a loop's body returns. */
const stackName = (text: string): string => (/^[A-Za-z_$][\w$]*$/.test(text) ? `${text.replace(/(_?\d+)?(Next)?$/, '')}s` : 'ys');

function scanText(statement: Statement): Written {
  const { outer, node, results, regions: [body] } = statement;
  const [carries, stacks, length] = ['carries', 'stacks', 'length'].map((name) => numberAttr(node, name)) as [number, number, number];
  const names = outer.names.inner(results.filter((name) => name !== null));
  const init = node.inputs.slice(0, carries).map((id) => valueText(outer, id));
  const xs = node.inputs.slice(carries, carries + stacks).map((id) => valueText(outer, id));
  const carry = carryNames(statement, names, carries);
  const reads = readsOf(body!);
  const slices = xs.map((stack, k) => (reads[carries + k] ? names.claim(/^sn\.iota/.test(stack) ? 'i' : elementName(stack)) : null));
  const bindings = [...carry, ...slices.map((name) => name ?? '')].map(text).concat(captured(statement, carries + stacks));
  const region = { graph: body!, names, bindings, hints: carry.map((name) => `${name}Next`) };
  const reverse = numberAttr(node, 'reverse') ? 'true' : undefined;
  if (carries === 0 && stacks > 0 && !reverse) {
    const f = functionText(outer, { ...region, parameters: pattern(slices) }, tree);
    return { ...f, text: callText('sn.map', [f.text, tree(xs)]) };
  }
  const range = rangeOf(statement, carries, stacks, length);
  if (range && !reverse && body!.outputs.length === carries) {
    const f = functionText(outer, { ...region, parameters: `${slices[0] ?? '_'}, ${pattern(carry)}` }, tree);
    return { ...f, text: callText('sn.foriLoop', [...range.map(String), f.text, tree(init)]) };
  }
  const result = (outputs: string[]): string => `[${tree(outputs.slice(0, carries))}, ${tree(outputs.slice(carries))}]`;
  const state = carries === 0 ? '_' : pattern(carry);
  const parameters = stacks === 0 ? state : `${state}, ${pattern(slices)}`;
  const options = optionsText({ length: stacks === 0 ? String(length) : undefined, reverse });
  const f = functionText(outer, { ...region, parameters }, result);
  return { ...f, text: callText('sn.scan', [f.text, tree(init), tree(xs), ...(options ? [options] : [])]) };
}

function whileText(statement: Statement): Written {
  const { outer, node, results, regions } = statement;
  const carries = numberAttr(node, 'carries');
  const init = node.inputs.slice(0, carries).map((id) => valueText(outer, id));
  const functions = [regions[1]!, regions[0]!].map((graph, k) => {
    const names = outer.names.inner(results.filter((name) => name !== null));
    const carry = carryNames(statement, names, carries);
    const reads = readsOf(graph);
    const read = carry.map((name, i) => (reads[i] ? name : null));
    const bindings = [...carry.map(text), ...captured(statement, carries)];
    return functionText(outer, { graph, names, parameters: pattern(read), bindings, hints: k ? carry.map((name) => `${name}Next`) : [] }, tree);
  });
  return { text: callText('sn.whileLoop', [...functions.map((f) => f.text), tree(init)]), outputs: [] };
}

function condText(statement: Statement): Written {
  const { outer, node, regions } = statement;
  const branches = regions.map((graph) =>
    functionText(outer, { graph, names: outer.names.inner(), parameters: '', bindings: captured(statement, 1) }, tree));
  return { text: callText('sn.cond', [valueText(outer, node.inputs[0]!), ...branches.map((f) => f.text)]), outputs: [] };
}

/** Names for parameters that stand for these values: the outer names, unless the function also uses an outer value of that
 *  name. */
function parametersOf(outer: Block, ids: readonly number[], others: readonly Binding[]): { names: Names; parameters: string[] } {
  const isPath = (id: number): boolean => !outer.constant(id) && /^[\w$.]+$/.test(outer.text(id));
  const words = ids.map((id) => (isPath(id) && lastWord(outer.text(id))) || 'x');
  const seen = new Set(others.map((other) => ('text' in other ? /^[\w$]+/.exec(other.text)?.[0] : undefined)));
  const names = outer.names.inner(words.filter((word) => !seen.has(word)));
  return { names, parameters: words.map((word) => names.claim(word)) };
}

/** What a checkpoint keeps besides its arguments is saved under names. All values that it reads become arguments, because
 *  what depends on other values alone would not be computed again. */
function checkpointText({ outer, node, results, regions: [body] }: Statement): Written {
  const kept = body!.outputs.slice(body!.outputs.length - numberAttr(node, 'kept'));
  // Kept values that something outside reads are returned like other results.
  const isRead = results.slice(body!.outputs.length - kept.length).some((name) => name !== null);
  const count = body!.outputs.length - (isRead ? 0 : kept.length);
  const reads = readsOf(body!);
  const args = node.inputs.filter((id, i) => reads[i] && !outer.constant(id));
  const { names, parameters } = parametersOf(outer, args, []);
  const bindings = node.inputs.map((id, i): Binding => {
    const constant = outer.constant(id);
    return constant ? { constant } : { text: reads[i] ? parameters[args.indexOf(id)]! : '' };
  });
  const saved = new Map([...new Set(kept)].map((id, i) => [id, `kept${i || ''}`]));
  const region = { graph: body!, names, parameters: parameters.join(', '), bindings, saved };
  const f = functionText(outer, region, (outputs) => tree(outputs.slice(0, count)));
  const options = optionsText({ policy: saved.size > 0 ? `[${[...saved.values()].map((name) => `'${name}'`).join(', ')}]` : undefined });
  return { ...f, text: `${callText('sn.checkpoint', [f.text, ...(options ? [options] : [])])}(${args.map((id) => outer.text(id)).join(', ')})` };
}

function customText({ outer, node, regions }: Statement): Written {
  const [body, rule] = regions as [Graph, Graph];
  const n = numberAttr(node, 'arguments');
  const isReverse = numberAttr(node, 'reverse') !== 0;
  const args = node.inputs.slice(0, n);
  const consts = captured({ outer, node } as Statement, n);
  const given = derivativesGiven(outer.graph, node);
  const own = outer.names.claim('f');
  const { names, parameters: params } = parametersOf(outer, args, consts);
  const f = functionText(outer, { graph: body, names: names.inner(), parameters: params.join(', '), bindings: [...params.map(text), ...consts] }, tree);
  outer.lines.push(`const ${own} = ${f.text};`);
  const total = isReverse ? body.outputs.length : n;
  const derived = Array.from({ length: total }, (_, i) => (given.includes(i) ? names.claim(isReverse ? 'ct' : `d${params[i]}`) : null));
  const bindings = [...params, ...given.map((i) => derived[i]!)].map(text).concat(consts);
  const list = (texts: readonly string[]): string => `[${texts.join(', ')}]`;
  const call = `${own}(${params.join(', ')})`;
  const region = { graph: rule, names, bindings };
  if (isReverse) {
    const backward = functionText(outer, { ...region, parameters: `${list(params)}, ${pattern(derived)}` }, (outputs) => {
      const made = [...outputs];
      return list(args.map((id) => (isFloat(outer.graph.nodes[id]!) ? made.shift()! : 'null')));
    });
    const forward = `(${params.join(', ')}) => [${call}, ${list(params)}]`;
    return { outputs: [], text: `sn.customVjp(${own}, {\n${indented([`forward: ${forward},`, `backward: ${backward.text},`])}\n})(${args.map((id) => valueText(outer, id)).join(', ')})` };
  }
  const jvp = functionText(outer, { ...region, parameters: `${list(params)}, ${list(derived.map((name) => name ?? ''))}` }, (outputs) => {
    const made = [...outputs];
    return `[${call}, ${tree(body.outputs.map((id) => (isFloat(body.nodes[id]!) ? made.shift()! : 'null')))}]`;
  });
  return { outputs: [], text: `sn.customJvp(${own}, {\n${indented([`jvp: ${jvp.text},`])}\n})(${args.map((id) => valueText(outer, id)).join(', ')})` };
}

/** Writes a node of control flow as a statement, and names its results. */
export function control(outer: Block, node: GraphNode, id: number): void {
  const numberOf = (reader: number): number => numberAttr(outer.graph.nodes[reader]!, 'number');
  const regions = regionsOf(outer.graph, node);
  const readers = [...outer.readers[id]!].sort((a, b) => numberOf(a) - numberOf(b));
  const results = regions[0]!.outputs.map((): string | null => null);
  const carries = node.op === 'scan' ? numberAttr(node, 'carries') : 0;
  const starts = 'carries' in node.attrs ? startNames(outer, node, numberAttr(node, 'carries')) : [];
  const name = (reader: number, wanted: string): void => {
    const claimed = outer.names.claim(outer.hint(reader) ?? wanted);
    results[numberOf(reader)] = claimed;
    outer.setText(reader, claimed);
  };
  // Stacks are named after the values that the body returns for them.
  const isStack = (reader: number): boolean => node.op === 'scan' && numberOf(reader) >= carries;
  for (const reader of readers) if (!isStack(reader)) name(reader, starts[numberOf(reader)] ?? (node.op === 'cond' ? 'chosen' : 'y'));
  const made = WRITERS[node.op]!({ outer, node, results, regions });
  for (const reader of readers) if (isStack(reader)) name(reader, stackName(made.outputs[numberOf(reader)]!));
  const isPair = made.text.startsWith('sn.scan');
  const parts = [results.slice(0, carries), results.slice(carries)].map((each) => (each.some((one) => one !== null) ? pattern(each) : null));
  const last = node.op === 'checkpoint' && results.slice(results.length - numberAttr(node, 'kept')).every((one) => one === null);
  const target = !isPair ? pattern(last ? results.slice(0, results.length - numberAttr(node, 'kept')) : results) : `[${parts[1] === null ? parts[0] : `${parts[0] ?? ''}, ${parts[1]}`}]`;
  const types = readers.map((reader) => typeText(outer.graph.nodes[reader]!));
  const isOne = types.length > 2 && types.every((type) => type === types[0]);
  outer.lines.push(`const ${target} = ${made.text}; // ${isOne ? `each ${types[0]}` : types.join(', ')}`);
}

const WRITERS: Readonly<Record<string, (statement: Statement) => Written>> = {
  scan: scanText, while_loop: whileText, cond: condText, checkpoint: checkpointText, custom: customText,
};
