// Describes a box of the graph: a node or a kernel.

import { bytes, count } from '../../views/format.ts';
import type { Scene } from '../graph/arrange.ts';
import { cutsOf } from '../graph/cuts.ts';
import { shapeText, type Box } from '../graph/scene.ts';
import type { Kernel, Report, Stage, StageGraph, StageNode } from '../report.ts';

export interface Line {
  label: string;
  value: string;
}

const MAX_NAMED = 8;

function list(items: string[], between = ', '): string {
  const distinct = [...new Set(items)];
  const named = distinct.slice(0, MAX_NAMED).join(between);
  const more = distinct.length - MAX_NAMED;
  return more > 0 ? `${named} and ${more} more` : named;
}

function namesOf({ nodes }: StageGraph): (id: number) => string {
  const ops = new Map(nodes.map(({ id, op }) => [id, op]));
  return (id) => `%${id} ${ops.get(id) ?? ''}`;
}

function describeKernel(stage: Stage, kernel: Kernel): Line[] {
  const lines = [
    { label: '', value: `k${kernel.id} · ${kernel.kind} · ${kernel.name}` },
    { label: 'work', value: `${count(kernel.flops)} FLOP, ${bytes(kernel.bytes)} read and written` },
  ];
  const cuts = cutsOf(stage).filter(({ from, to }) => from === kernel.id || to === kernel.id);
  const name = namesOf(stage);
  const said = cuts.map(({ edge, from, to }) => `k${from} → k${to}, ${name(edge.from)}: ${edge.reason}`);
  if (said.length > 0) lines.push({ label: 'through memory', value: list(said, '; ') });
  return lines;
}

/** Where a node's call is; for a derivative also what it derives. */
function placeOf({ lines }: Report, { nodes }: StageGraph, { call, derivative }: StageNode): string {
  const [line] = lines[call ?? 0] ?? [];
  const where = line === undefined ? '' : `line ${line}`;
  if (!derivative) return where;
  const of = nodes.filter((each) => each.call === call && !each.derivative).map(({ id, op }) => `%${id} ${op}`);
  return `derivative of ${[list(of), where].filter(Boolean).join(', ') || 'what was called'}`;
}

function describeNode(report: Report, graph: StageGraph, { id, given }: Box): Line[] {
  const node = graph.nodes.find((each) => each.id === id);
  if (node === undefined) return [{ label: '', value: `%${id}` }];
  const name = namesOf(graph);
  const kernel = report.kernels.find((each) => each.id === node.group);
  const reads = graph.edges.filter(({ to }) => to === id).map(({ from }) => name(from));
  const readers = graph.edges.filter(({ from }) => from === id).map(({ to }) => name(to));
  const detail = node.attrs === '' ? '' : ` {${node.attrs}}`;
  const type = node.control === undefined ? ` · ${node.dtype} · ${shapeText(node.shape)}` : '';
  const lines = [
    { label: '', value: `%${id} ${node.op}${detail}${type}` },
    { label: 'kernel', value: kernel === undefined ? '' : `k${kernel.id} ${kernel.kind} ${kernel.name}` },
    { label: 'given by', value: given },
    { label: '', value: placeOf(report, graph, node) },
    { label: '', value: node.again ? 'made again for a derivative, not kept' : '' },
    { label: 'reads', value: list(reads) },
    { label: 'read by', value: list(readers) },
  ];
  if (graph.outputs.includes(id))
    lines.push({ label: '', value: `a result of the ${report.stages.includes(graph as Stage) ? 'program' : 'region'}` });
  const cuts = cutsOf(graph)
    .filter(({ edge }) => edge.from === id || edge.to === id)
    .map(({ edge }) => `${name(edge.from)} → ${name(edge.to)}: ${edge.reason}`);
  lines.push({ label: 'through memory', value: list(cuts, '; ') });
  return lines.filter(({ value }) => value !== '');
}

export function describeBox(report: Report, stage: Stage, scene: Scene, box: number): Line[] {
  const { id, graph } = scene.boxes[box];
  if (graph !== null) return describeNode(report, graph, scene.boxes[box]);
  const kernel = report.kernels.find((each) => each.id === id);
  return kernel === undefined ? [] : describeKernel(stage, kernel);
}
