// The operators of a graph: how often each occurs, how many weights it has, and how long it takes if the ops run one by one.

import { create, element, inside, setText, setValue } from '../views/dom.ts';
import { NONE, count, significant } from '../views/format.ts';
import type { FileGraph, NodeTime } from './protocol.ts';

interface Sum {
  count: number;
  weights: number;
  ms: number;
}

export class OpsCard {
  private graph: FileGraph | null = null;
  private readonly body = inside(element('models-ops'), 'tbody');
  private readonly foot = element('models-ops-foot');

  show(graph: FileGraph): void {
    this.graph = graph;
    this.fill(null);
    setText(this.foot, '');
  }

  setTimes(times: readonly NodeTime[], fusedMs: number | null): void {
    this.fill(times);
    const total = times.reduce((sum, { ms }) => sum + ms, 0);
    setText(this.foot, `Op by op, each to its end: ${significant(total)} ms.${fusedMs === null ? '' : ` As one compiled program a run takes ${significant(fusedMs)} ms.`}`);
    this.foot.classList.remove('problem');
  }

  fail(text: string): void {
    setText(this.foot, text);
    this.foot.classList.add('problem');
  }

  private fill(times: readonly NodeTime[] | null): void {
    const { graph } = this;
    if (graph === null) return;
    const sums = new Map<string, Sum>();
    for (const { op, parameters } of graph.nodes) {
      const sum = sums.get(op) ?? { count: 0, weights: 0, ms: 0 };
      sums.set(op, { ...sum, count: sum.count + 1, weights: sum.weights + parameters });
    }
    for (const { node, ms } of times ?? []) {
      const sum = sums.get(graph.nodes[node].op);
      if (sum !== undefined) sum.ms += ms;
    }
    const total = [...sums.values()].reduce((sum, { ms }) => sum + ms, 0);
    const sorted = [...sums].sort(([, a], [, b]) => (times === null ? b.count - a.count : b.ms - a.ms));
    const most = sorted[0]?.[1].ms ?? 0;
    this.body.replaceChildren(...sorted.map(([op, sum]) => this.row(op, sum, times === null ? null : { total, most })));
  }

  private row(op: string, sum: Sum, of: { total: number; most: number } | null): HTMLTableRowElement {
    const name = create('th', 'name', op);
    name.scope = 'row';
    name.title = op;
    const ms = create('td', 'ms');
    setValue(ms, of === null ? NONE : sum.ms.toFixed(sum.ms < 10 ? 3 : 2), of === null ? null : sum.ms);
    const fill = create('i', '');
    fill.style.transform = `scaleX(${of === null ? 0 : sum.ms / of.most || 0})`;
    const share = create('td', 'share', fill, of === null ? NONE : `${((100 * sum.ms) / of.total || 0).toFixed(1)} %`);
    const row = create('tr', '', name, create('td', 'calls', count(sum.count)), create('td', 'weights', sum.weights === 0 ? '' : count(sum.weights)), ms, share);
    row.dataset.op = op;
    return row;
  }
}
