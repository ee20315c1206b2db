// The drawn graph of the model, and the selected box.

import type { Scene } from '../compiler/graph/arrange.ts';
import { GraphCanvas, placeTip } from '../compiler/graph/canvas.ts';
import type { Place } from '../compiler/graph/camera.ts';
import { Layouter } from '../compiler/layouter.ts';
import { element, setText } from '../views/dom.ts';
import { count } from '../views/format.ts';
import type { FileGraph, NodeTime } from './protocol.ts';
import { MOST_BOXES, Scopes, type Shown } from './scopes.ts';

/** Faster layouts are not announced. */
const ANNOUNCE_MS = 200;

export class GraphCard {
  private scopes: Scopes | null = null;
  private shown: Shown | null = null;
  private times: Map<number, NodeTime> | null = null;
  private chosen: number | null = null;
  private turn = 0;
  private readonly layouter = new Layouter();
  private readonly canvas: GraphCanvas;
  private readonly tip = element('models-graph-tip');
  private readonly openButton = element<HTMLButtonElement>('models-open-box');
  private readonly closeButton = element<HTMLButtonElement>('models-close-box');

  constructor() {
    const canvas = element<HTMLCanvasElement>('models-graph');
    this.canvas = new GraphCanvas(canvas, { hover: (box, at) => this.hover(box, at), select: (box) => this.choose(box) });
    canvas.addEventListener('dblclick', () => this.toggle());
    canvas.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      this.toggle();
    });
    element('models-zoom-in').addEventListener('click', () => this.canvas.zoom(1.4));
    element('models-zoom-out').addEventListener('click', () => this.canvas.zoom(1 / 1.4));
    element('models-zoom-fit').addEventListener('click', () => this.canvas.fit());
    element('models-open-all').addEventListener('click', () => this.change((scopes) => scopes.openAll()));
    element('models-close-all').addEventListener('click', () => this.change((scopes) => scopes.open.clear()));
    this.openButton.addEventListener('click', () => this.toggle());
    this.closeButton.addEventListener('click', () => this.close());
  }

  show(graph: FileGraph): void {
    this.scopes = new Scopes(graph);
    this.times = null;
    void this.draw(false);
  }

  setTimes(times: readonly NodeTime[]): void {
    this.times = new Map();
    for (const each of times) {
      const before = this.times.get(each.node);
      this.times.set(each.node, before === undefined ? each : { ...each, ms: before.ms + each.ms });
    }
    void this.draw(true);
  }

  private change(by: (scopes: Scopes) => void): void {
    if (this.scopes === null) return;
    by(this.scopes);
    void this.draw(false);
  }

  private toggle(): void {
    const box = this.chosen === null ? undefined : this.shown?.boxes[this.chosen];
    if (box === undefined) return;
    if (box.part !== '' && box.nodes.length > 1) this.change((scopes) => scopes.openPart(box.part));
    else this.close();
  }

  private close(): void {
    const box = this.chosen === null ? undefined : this.shown?.boxes[this.chosen];
    if (box !== undefined) this.change((scopes) => scopes.closeAround(box.nodes[0]));
  }

  /** note: what is said of it besides its size. */
  private async draw(keep: boolean, note = ''): Promise<void> {
    const { scopes } = this;
    if (scopes === null) return;
    const turn = ++this.turn;
    if (!keep) this.choose(null);
    const boxes = scopes.count;
    element('models-graph').dataset.boxes = String(boxes);
    const wait = element('models-graph-wait');
    if (boxes > MOST_BOXES) {
      const refused = `${count(boxes)} boxes are more than can be drawn`;
      scopes.open.clear();
      if (scopes.count <= MOST_BOXES) return this.draw(keep, `${refused}: all parts were closed. `);
      wait.hidden = true;
      this.shown = null;
      this.canvas.show(null, false);
      return setText(element('models-box'), `${refused}.`);
    }
    const shown = scopes.draw(this.times);
    const timer = window.setTimeout(() => (wait.hidden = false), ANNOUNCE_MS);
    let scene: Scene | null = null;
    try {
      scene = await this.layouter.place(shown.drawing);
    } catch (error) {
      setText(element('models-box'), `The graph could not be placed: ${String(error)}`);
    } finally {
      clearTimeout(timer);
      if (turn === this.turn) wait.hidden = true;
    }
    if (turn !== this.turn || scene === null) return;
    this.shown = shown;
    this.canvas.show(scene, keep);
    element('models-graph').dataset.shown = String(shown.boxes.length);
    if (this.chosen === null) setText(element('models-box'), `${note}${count(shown.boxes.length)} boxes, ${count(scopes.graph.nodes.length)} nodes. A double click opens a box.`);
  }

  private choose(box: number | null): void {
    this.chosen = box;
    const { scopes } = this;
    const own = box === null ? undefined : this.shown?.boxes[box];
    this.openButton.hidden = own === undefined || own.part === '' || own.nodes.length < 2;
    this.closeButton.hidden = own === undefined || scopes === null || !scopes.isInside(own.nodes[0]);
    setText(element('models-box'), own === undefined || scopes === null ? '' : scopes.describe(own, this.times));
  }

  private hover(box: number | null, at: Place): void {
    const own = box === null ? undefined : this.shown?.boxes[box];
    this.tip.hidden = own === undefined || this.scopes === null;
    if (own === undefined || this.scopes === null) return;
    setText(this.tip, this.scopes.describe(own, this.times));
    placeTip(this.tip, element('models-graph'), at);
  }
}
