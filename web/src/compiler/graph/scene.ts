// The content of a drawing: boxes and lines. It is made from a stage node by node or, for large graphs, kernel by kernel. A
// node that runs regions, e.g. a loop, is a box around a drawing of each region.

import { GROUPS, type StageControl, type StageEdge, type StageGraph, type StageNode, type Kernel, type Report, type Stage } from '../report.ts';
import { plural } from '../../views/format.ts';
import { cutsOf } from './cuts.ts';

/** Larger drawings are not shown: nodes are then shown by kernel, or as text. */
export const MAX_NODES = 6000;

export interface Box {
  /** The id of its node or kernel. */
  id: number;
  /** The node, and the graph that it is in; null for a kernel. */
  graph: StageGraph | null;
  node: StageNode | null;
  title: string;
  subtitle: string;
  /** The kernel whose colour it has; null if it belongs to none. */
  kernel: number | null;
  mark: 'none' | 'fresh' | 'gone';
  derivative: boolean;
  /** Whether it is an input or a result, of the program or of its region. */
  end: boolean;
  /** For an argument of a region: where its value comes from. */
  given: string;
  inside: Inside[];
}

/** A region, and its role for the node around it. */
export interface Inside {
  name: string;
  drawing: Drawing;
}

export interface Line {
  /** Indices in `boxes`. */
  from: number;
  to: number;
  /** Whether the value passes through memory, from one kernel to another. */
  cut: boolean;
  /** Whether a derivative reads a value of the function, so that it has to be kept. */
  saved: boolean;
}

export interface Drawing {
  boxes: Box[];
  lines: Line[];
  /** What the boxes' ids number. */
  of: 'nodes' | 'kernels';
}

/** Longer texts are cut off. */
const MAX_CHARS = 26;

export const shorten = (text: string): string =>
  text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text;

export function shapeText(shape: readonly number[]): string {
  return shape.length === 0 ? 'scalar' : shape.join(' × ');
}

/**
 * Whether a number is written into the boxes that read it, as in mul(·, 0.5), instead of having a box with lines to everywhere.
 * Numbers that are results, or that a pass made or removed, keep boxes of their own.
 */
function isWrittenOut({ op, shape }: StageNode, isOfInterest: boolean): boolean {
  return op === 'constant' && shape.length === 0 && !isOfInterest;
}

export interface Marks {
  nodes: ReadonlySet<StageNode>;
  mark: 'fresh' | 'gone';
}

/** How a node runs the region that is drawn. */
interface Run {
  control: StageControl;
  name: string;
  /** The inputs of the node. */
  inputs: StageNode[];
}

/** The name of argument k of a region, by its role in a round. */
function argumentName(k: number, { control: { carries, stacks } }: Run): string {
  if (k < carries) return `carry ${k}`;
  if (k < carries + stacks) return `slice ${k - carries}`;
  return carries + stacks === 0 ? `argument ${k}` : `const ${k - carries - stacks}`;
}

function resultName(k: number, { control: { carries, stacks }, name }: Run): string {
  if (name !== 'body' || carries + stacks === 0) return `result ${k}`;
  return k < carries ? `carry ${k}` : `slice ${k - carries}`;
}

function giver(k: number, { control, inputs }: Run): string {
  const { id, op, attrs, shape } = inputs[control.first + k];
  const first = op === 'constant' && shape.length === 0 ? attrs : `%${id} ${op}`;
  return k < control.carries ? `${first}, then by the round before` : first;
}

class NodesDrawing implements Drawing {
  readonly boxes: Box[] = [];
  readonly lines: Line[];
  readonly of = 'nodes';
  private readonly place: Map<number, number>;
  /** For each node the indices of the nodes that it reads. */
  private readonly inputs: number[][];
  private readonly written: boolean[];
  /** For each node that is a result, the numbers of these results. */
  private readonly results = new Map<number, number[]>();

  constructor(
    private readonly graph: StageGraph,
    private readonly marks: Marks | null,
    private readonly open: boolean,
    private readonly run: Run | null,
  ) {
    const { nodes, edges, outputs } = graph;
    this.place = new Map(nodes.map(({ id }, i) => [id, i]));
    this.inputs = nodes.map(() => []);
    for (const { from, to } of edges) this.inputs[this.at(to)].push(this.at(from));
    outputs.forEach((id, k) => this.results.set(id, [...(this.results.get(id) ?? []), k]));
    this.written = nodes.map((node) => isWrittenOut(node, this.results.has(node.id) || (marks?.nodes.has(node) ?? false)));
    const boxOf = new Map<number, number>();
    nodes.forEach((node, i) => {
      if (this.written[i]) return;
      boxOf.set(node.id, this.boxes.length);
      this.boxes.push(this.box(node, i));
    });
    const cut = new Set(cutsOf(graph).map(({ edge }) => edge));
    this.lines = edges.flatMap((edge): Line[] => {
      const [from, to] = [boxOf.get(edge.from), boxOf.get(edge.to)];
      return from === undefined || to === undefined ? [] : [{ from, to, cut: cut.has(edge), saved: this.isSaved(edge) }];
    });
  }

  private isSaved({ from, to }: StageEdge): boolean {
    const [made, reader] = [this.graph.nodes[this.at(from)], this.graph.nodes[this.at(to)]];
    return Boolean(reader.derivative) && !made.derivative && made.op !== 'input' && made.op !== 'constant';
  }

  private at(id: number): number {
    return this.place.get(id) as number;
  }

  private box(node: StageNode, i: number): Box {
    const { id, op, attrs, group } = node;
    const { run, marks } = this;
    return {
      id,
      graph: this.graph,
      node,
      derivative: node.derivative ?? false,
      title: this.title(node, i),
      subtitle: this.subtitle(node),
      kernel: group,
      mark: marks?.nodes.has(node) ? marks.mark : 'none',
      end: op === 'input' || this.results.has(id),
      given: run !== null && op === 'input' ? giver(Number(attrs), run) : '',
      inside: this.inside(node, i),
    };
  }

  private title({ op, attrs, shape, control }: StageNode, i: number): string {
    const { graph: { nodes }, written, run } = this;
    if (op === 'constant' && shape.length === 0) return attrs;
    if (op === 'input' && run !== null) return argumentName(Number(attrs), run);
    if (op === 'result') return `result ${attrs}`;
    if (control !== undefined || !this.inputs[i].some((input) => written[input])) return op;
    return `${op}(${this.inputs[i].map((input) => (written[input] ? nodes[input].attrs : '·')).join(', ')})`;
  }

  private subtitle({ id, dtype, shape, control }: StageNode): string {
    if (control?.rounds !== undefined) return `${plural(control.rounds, 'round')}${control.backwards ? ', backwards' : ''}`;
    if (control !== undefined) return '';
    const type = `${shapeText(shape)}${dtype === 'float32' ? '' : ` ${dtype}`}`;
    const { run } = this;
    const results = run === null ? [] : (this.results.get(id) ?? []).map((k) => resultName(k, run));
    return results.length === 0 ? type : `${type} → ${results.join(', ')}`;
  }

  private inside({ control }: StageNode, i: number): Inside[] {
    if (control === undefined || !this.open) return [];
    const { nodes, regions } = this.graph;
    const inputs = this.inputs[i].map((input) => nodes[input]);
    return control.regions.map(({ name, number }) => ({
      name,
      drawing: new NodesDrawing(regions[number], this.marks, true, { control, name, inputs }),
    }));
  }
}

/** open: whether regions are drawn within the nodes that run them. */
export function drawNodes(stage: Stage, marks: Marks | null, open: boolean): Drawing {
  return new NodesDrawing(stage, marks, open, null);
}

/** The number of boxes in a drawing, including those within boxes. */
export function countBoxes({ boxes }: Drawing): number {
  return boxes.reduce((count, { inside }) => count + inside.reduce((n, { drawing }) => n + countBoxes(drawing), 1), 0);
}

/** A drawing with a box per kernel, and a line per pair of kernels where one reads what the other writes. */
export function drawKernels({ kernels, stages }: Report, subtitle: (kernel: Kernel) => string): Drawing {
  const place = new Map(kernels.map(({ id }, i) => [id, i]));
  const stage = stages.find(({ name }) => name === GROUPS);
  const derivatives = new Set(stage?.nodes.flatMap(({ id, derivative }) => (derivative ? [id] : [])));
  const boxes = kernels.map((kernel): Box => ({
    id: kernel.id,
    graph: null,
    node: null,
    derivative: kernel.nodes.length > 0 && kernel.nodes.every((id) => derivatives.has(id)),
    title: kernel.name,
    subtitle: subtitle(kernel),
    kernel: kernel.id,
    mark: 'none',
    end: false,
    given: '',
    inside: [],
  }));
  const lines = new Map<number, Line>();
  for (const cut of stage === undefined ? [] : cutsOf(stage)) {
    const [from, to] = [place.get(cut.from), place.get(cut.to)];
    if (from !== undefined && to !== undefined)
      lines.set(from * kernels.length + to, { from, to, cut: true, saved: false });
  }
  return { boxes, lines: [...lines.values()], of: 'kernels' };
}
