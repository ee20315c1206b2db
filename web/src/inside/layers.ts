// Layers over time: histograms of weights, gradients and activations, with badges and a summary of what is unusual.

import type { ActivationReport, LayerReport, LayersReport } from '../state/inside.ts';
import { create, PAINT_MS, setText, spaced } from '../views/dom.ts';
import { count, plural, short } from '../views/format.ts';
import { ofActivation, ofLayer, type Finding } from './findings.ts';
import { Heat } from './heat.ts';

const NOTHING = 'Nothing stands out: gradients reach all layers, no layer moves too far, and its units are awake.';

class Row {
  readonly element: HTMLLIElement;
  private readonly badges = create('p', 'badges');
  private marked = '';

  constructor(
    name: string,
    size: string,
    readonly heats: readonly Heat[],
  ) {
    const what = create('div', 'what', create('strong', '', name), create('span', 'muted', size), this.badges);
    this.element = create('li', '', what, ...heats.map(({ figure }) => figure));
    this.element.dataset.name = name;
  }

  mark(findings: readonly Finding[]): void {
    const said = JSON.stringify(findings);
    if (said === this.marked) return;
    this.marked = said;
    this.badges.replaceChildren(
      ...findings.map(({ badge, why }) => {
        const made = create('span', 'badge', badge);
        made.dataset.state = why === '' ? 'good' : 'bad';
        made.title = why;
        return made;
      }),
    );
  }
}

const layerRow = ({ name, size }: LayerReport): Row =>
  new Row(name, plural(size, 'number'), [new Heat('weights', '--rate', false), new Heat('gradient by size', '--norm', true)]);

const activationRow = ({ name, units }: ActivationReport): Row => new Row(name, plural(units, 'unit'), [new Heat('values', '--accuracy', false)]);

export class LayersView {
  readonly element = create('div', 'layers');
  private readonly summary = create('p', 'muted', 'Measured on the batch of the next step, while this is open.');
  private readonly findings = create('ul', 'findings');
  private readonly lists = { layers: create('ul', 'rows'), activations: create('ul', 'rows single') };
  private readonly note = create('p', 'muted');
  private rows = new Map<string, Row>();
  private last: LayersReport | null = null;
  private readonly draw = spaced(PAINT_MS, () => {
    for (const { heats } of this.rows.values()) for (const heat of heats) heat.paint();
  });

  constructor() {
    const news = create('div', '', this.findings); // the list itself cannot have the role status and stay a list
    news.setAttribute('role', 'status');
    const { layers, activations } = this.lists;
    layers.dataset.testid = 'inside-layer-rows';
    activations.dataset.testid = 'inside-activation-rows';
    this.findings.dataset.testid = 'inside-findings';
    this.element.append(this.summary, news, create('h4', '', 'Parameters'), layers, create('h4', '', 'Activations'), activations, this.note);
  }

  clear(): void {
    this.rows.clear();
    this.last = null;
    for (const list of [...Object.values(this.lists), this.findings]) list.replaceChildren();
    setText(this.note, '');
  }

  refuse(why: string): void {
    this.clear();
    setText(this.summary, why);
  }

  show(report: LayersReport): void {
    const { step, layers, activations, note, ms } = report;
    this.last = report;
    const longest = Math.max(...layers.map(({ norm }) => norm));
    const found: Finding[] = [];
    const keep = (row: Row, findings: Finding[]): void => {
      row.mark(findings);
      found.push(...findings.filter(({ why }) => why !== ''));
    };
    for (const layer of layers) {
      const row = this.row(`layer ${layer.name}`, this.lists.layers, () => layerRow(layer));
      row.heats[0].add({ step, ...layer.weights });
      row.heats[1].add({ step, range: 0, counts: layer.gradients });
      keep(row, ofLayer(layer, longest));
    }
    for (const each of activations) {
      const row = this.row(`activation ${each.name}`, this.lists.activations, () => activationRow(each));
      row.heats[0].add({ step, ...each.values });
      keep(row, ofActivation(each));
    }
    this.say(found);
    this.draw();
    setText(this.summary, `Step ${count(step)}, measured on the batch of the next step in ${short(ms, 2)} ms, at most 2 % of the time.`);
    setText(this.note, activations.length === 0 && note === '' ? 'This program calls no module and no activation function.' : note);
    this.element.dataset.step = String(step);
  }

  /** Writes the findings, if they have changed. */
  private say(found: readonly Finding[]): void {
    const items = found.length === 0 ? [create('li', 'good', NOTHING)] : found.map(({ why }) => create('li', '', why));
    const said = (list: readonly Element[]): string => list.map(({ textContent }) => textContent).join('\n');
    if (said(items) !== said([...this.findings.children])) this.findings.replaceChildren(...items);
  }

  /** The last look, and the histograms over time. */
  get figures(): unknown {
    const over = [...this.rows].map(([name, { heats }]) => ({ name, histograms: heats.map(({ table }) => table.map(({ counts, ...rest }) => ({ ...rest, counts: [...counts] }))) }));
    return { last: this.last, over };
  }

  private row(name: string, list: HTMLElement, make: () => Row): Row {
    const there = this.rows.get(name);
    if (there !== undefined) return there;
    const made = make();
    this.rows.set(name, made);
    list.append(made.element);
    return made;
  }
}
