// The stages of a compilation as a row of buttons, and the graph before and after the chosen one, by nodes or kernels, as a
// picture or text.

import { create, element, setText } from '../../views/dom.ts';
import { bytes, count, plural } from '../../views/format.ts';
import type { Scene } from '../graph/arrange.ts';
import { diff, type Change } from '../graph/diff.ts';
import type { Place } from '../graph/camera.ts';
import { GraphCanvas, placeTip } from '../graph/canvas.ts';
import { countBoxes, drawKernels, drawNodes, MAX_NODES, type Drawing, type Marks } from '../graph/scene.ts';
import { Layouter } from '../layouter.ts';
import { allNodes, GROUPS, type Kernel, type Report, type Stage } from '../report.ts';
import { describeBox, type Line } from './box-details.ts';
import type { Chosen, Lit, Selection } from '../selection.ts';
import { Choice } from '../../views/choice.ts';
import type { CodeView } from './code-view.ts';
import { DiffView } from './diff-view.ts';
import { RewritesView } from './rewrites.ts';

/** From this many nodes on, the first picture is by kernels. */
const MANY_NODES = 120;

/** Faster layouts are not announced, because a flashing notice is worse than none. */
const ANNOUNCE_MS = 200;

/** The stages that are passes. The stages before them show how the program was written. */
const passesOf = (stages: readonly Stage[]): string[] =>
  stages.map(({ name }) => name).filter((name) => !['trace', 'inline', 'expand', 'prepare', GROUPS].includes(name));

const kernelSubtitle = ({ id, kind, bytes: moved }: Kernel): string =>
  `k${id} ${kind}${moved > 0 ? ` ${bytes(moved)}` : ''}`;

export class StagesView {
  private report: Report | null = null;
  private chosen = '';
  private readonly changes = new Map<number, Change>();
  private scenes = new Map<string, Scene>();
  /** The number of the newest drawing; older ones are dropped. */
  private turn = 0;
  private shown: Scene | null = null;
  /** The box that is outlined and described, until something else is chosen. */
  private own: { box: number; chosen: Chosen } | null = null;
  private readonly layouter = new Layouter();
  private readonly list = element('stages');
  private readonly tip = element('graph-tip');
  private readonly details = element('node-details');
  private readonly moment = new Choice('moment', () => void this.draw());
  private readonly grain = new Choice('grain', () => {
    this.grainChosen = true;
    void this.draw();
  });
  /** false: the number of nodes decides whether to draw nodes or kernels. */
  private grainChosen = false;
  private readonly form = new Choice('show-graph', () => void this.draw());
  private readonly canvas: GraphCanvas;
  private readonly diff = new DiffView(element('stage-diff'));
  private readonly rewrites = new RewritesView((rewrite) => this.lightRewrite(rewrite !== null));
  /** For each pass, how many kernels there are if compilation ends after it. */
  private readonly kernelsBehind = new Map<string, Promise<number>>();

  constructor(
    private readonly text: CodeView,
    private readonly selection: Selection,
    /** Compiles without the passes after the given one; returns the number of kernels. */
    private readonly countKernels: (pass: string) => Promise<number>,
  ) {
    this.canvas = new GraphCanvas(element<HTMLCanvasElement>('graph'), {
      hover: (box, at) => this.hover(box, at),
      select: (box) => this.select(box),
    });
    selection.listen((lit) => this.light(lit, true));
    element('zoom-in').addEventListener('click', () => this.canvas.zoom(1.4));
    element('zoom-out').addEventListener('click', () => this.canvas.zoom(1 / 1.4));
    element('zoom-fit').addEventListener('click', () => this.canvas.fit());
    element('graph-wait').querySelector('button')?.addEventListener('click', () => this.layouter.cancel());
    this.list.addEventListener('keydown', (event) => this.key(event));
  }

  show(report: Report): void {
    this.report = report;
    this.changes.clear();
    this.kernelsBehind.clear();
    this.scenes = new Map();
    if (!report.stages.some(({ name }) => name === this.chosen)) this.chosen = report.stages.at(-1)?.name ?? '';
    const last = report.stages.at(-1);
    if (!this.grainChosen)
      this.grain.value = last !== undefined && allNodes(last).length > MANY_NODES ? 'show-kernels' : 'show-nodes';
    this.list.replaceChildren(...report.stages.map((_, i) => this.stageButton(report, i)));
    void this.draw();
  }

  private get place(): number {
    return this.report?.stages.findIndex(({ name }) => name === this.chosen) ?? -1;
  }

  private isGroups(i: number): boolean {
    return this.report?.stages[i]?.name === GROUPS;
  }

  private change(i: number): Change | null {
    const { stages } = this.report as Report;
    if (i === 0 || this.isGroups(i)) return null;
    let change = this.changes.get(i);
    if (change === undefined) this.changes.set(i, (change = diff(stages[i - 1], stages[i])));
    return change;
  }

  private stageButton({ stages, kernels }: Report, i: number): HTMLElement {
    const { name } = stages[i];
    const nodes = allNodes(stages[i]);
    const change = this.change(i);
    const shown = this.isGroups(i) ? plural(kernels.length, 'kernel') : count(nodes.length);
    const button = create('button', 'stage', create('strong', '', name), create('span', '', shown));
    button.type = 'button';
    button.dataset.testid = 'stage';
    button.dataset.name = name;
    button.dataset.nodes = String(nodes.length);
    button.classList.toggle('idle', change !== null && change.gone.size + change.fresh.size === 0);
    button.addEventListener('click', () => this.choose(name));
    return create('li', '', button);
  }

  private choose(name: string): void {
    this.chosen = name;
    void this.draw();
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const stage = this.report?.stages[this.place + (by ?? 0)];
    if (by === undefined || stage === undefined) return;
    event.preventDefault();
    this.choose(stage.name);
    this.list.querySelectorAll('button')[this.place]?.focus();
  }

  /** The stage to draw by the user's choices, and its drawing. */
  private drawing(i: number): { stage: Stage; drawing: Drawing; key: string } {
    const report = this.report as Report;
    const change = this.change(i);
    const before = change !== null && this.moment.value === 'show-before';
    const stage = report.stages[before ? i - 1 : i];
    const byKernel = this.isGroups(i) && this.grain.value === 'show-kernels';
    if (byKernel) return { stage, drawing: drawKernels(report, kernelSubtitle), key: 'kernels' };
    let marks: Marks | null = null;
    if (change !== null) marks = before ? { nodes: change.gone, mark: 'gone' } : { nodes: change.fresh, mark: 'fresh' };
    const open = drawNodes(stage, marks, true);
    const drawing = countBoxes(open) > MAX_NODES ? drawNodes(stage, marks, false) : open;
    return { stage, drawing, key: `${stage.name} ${marks?.mark ?? ''}` };
  }

  private async draw(): Promise<void> {
    const i = this.place;
    if (this.report === null || i < 0) return;
    this.list.querySelectorAll('button').forEach((button, at) => {
      button.setAttribute('aria-current', String(at === i));
      button.tabIndex = at === i ? 0 : -1;
    });
    const change = this.change(i);
    this.moment.setShown(change !== null);
    this.grain.setShown(this.isGroups(i));
    const asDiff = this.form.value === 'show-diff' && change !== null;
    const asText = this.form.value === 'show-text' || (this.form.value === 'show-diff' && !asDiff);
    const { stage, drawing, key } = this.drawing(i);
    setText(element('stage-note'), this.note(i, change));
    void this.noteKernels(i, change);
    this.rewrites.show(this.report.stages[i - 1], this.report.stages[i]);
    element('stage-diff').hidden = !asDiff;
    element('graph-frame').hidden = asText || asDiff;
    element('stage-text').hidden = !asText;
    if (asDiff) {
      this.details.replaceChildren(create('p', 'muted', 'What stays keeps its number of before; %n… is new.'));
      this.diff.show(this.report.stages[i - 1], this.report.stages[i]);
      return;
    }
    if (asText) {
      this.details.replaceChildren();
      this.text.show(stage.text, 'plain');
      this.light(this.selection.lit, true);
      return;
    }
    await this.drawGraph(drawing, key);
  }

  private note(i: number, change: Change | null): string {
    const { stages, kernels } = this.report as Report;
    const nodes = allNodes(stages[i]);
    if (this.isGroups(i)) return `${plural(nodes.length, 'node')} in ${plural(kernels.length, 'kernel')}.`;
    if (change === null) return `The graph as it was traced: ${plural(nodes.length, 'node')}.`;
    if (change.gone.size + change.fresh.size === 0) return 'Nothing to do for this pass here.';
    return `${count(allNodes(stages[i - 1]).length)} → ${plural(nodes.length, 'node')}: ${count(change.gone.size)} gone, ${count(change.fresh.size)} new.`;
  }

  /** Adds to the note how many kernels the pass saves. */
  private async noteKernels(i: number, change: Change | null): Promise<void> {
    const { stages } = this.report as Report;
    const isPass = (at: number): boolean => passesOf(stages).includes(stages[at]?.name ?? '');
    if (change === null || !isPass(i)) return;
    const ask = (at: number): Promise<number> => {
      const name = isPass(at) ? stages[at].name : '';
      const known = this.kernelsBehind.get(name) ?? this.countKernels(name);
      this.kernelsBehind.set(name, known);
      return known;
    };
    try {
      const [before, after] = [await ask(i - 1), await ask(i)];
      if (this.report?.stages === stages && this.place === i)
        setText(element('stage-note'), `${this.note(i, change)} ${count(before)} → ${plural(after, 'kernel')} if compiling ended here.`);
    } catch {
      // The note stays as it was.
    }
  }

  /** Highlights the value of a rewrite: the old or the new one, depending on which graph is shown. */
  private lightRewrite(isOne: boolean): void {
    if (isOne && this.form.value !== 'show-graph') {
      this.form.value = 'show-graph';
      void this.draw();
    }
    const { shown, rewrites: { shown: rewrite } } = this;
    if (shown === null) return;
    const before = this.moment.value === 'show-before';
    const boxes = rewrite === null ? null : Uint8Array.from(shown.boxes, ({ node, graph, id }) =>
      Number(node !== null && graph === this.drawing(this.place).stage && id === (before ? rewrite.from : rewrite.to)),
    );
    element('graph').dataset.lit = String(boxes?.reduce((sum, each) => sum + each, 0) ?? 0);
    this.canvas.light(boxes, true);
  }

  private async drawGraph(drawing: Drawing, key: string): Promise<void> {
    const known = this.scenes.get(key);
    if (known !== undefined) {
      this.turn++;
      this.layouter.cancel();
      return this.present(known);
    }
    if (drawing.boxes.length > MAX_NODES)
      return this.refuse(`${count(drawing.boxes.length)} boxes are too many for a picture: the text has them all.`);
    const turn = ++this.turn;
    const { scenes } = this;
    const stopSaying = this.sayPlacing(drawing.boxes.length);
    try {
      const placed = await this.layouter.place(drawing);
      // If another report has come meanwhile, its scenes are others.
      if (placed !== null && scenes === this.scenes) scenes.set(key, placed);
      if (turn !== this.turn) return;
      if (placed === null) this.refuse('No picture: cancelled.');
      else this.present(placed);
    } catch (error) {
      if (turn === this.turn) this.refuse(`No picture: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      stopSaying();
    }
  }

  /** Announces the layout if it takes long. Returns a function that ends the announcements. */
  private sayPlacing(boxes: number): () => void {
    const begin = performance.now();
    const timer = setInterval(() => {
      const seconds = Math.floor((performance.now() - begin) / 1000);
      this.wait(`Placing ${plural(boxes, 'box', 'boxes')}…${seconds === 0 ? '' : ` ${seconds} s`}`, true);
    }, ANNOUNCE_MS);
    return () => clearInterval(timer);
  }

  private wait(text: string | null, mayCancel = false): void {
    const box = element('graph-wait');
    box.hidden = text === null;
    if (text === null) return;
    setText(box.querySelector('p') as Element, text);
    (box.querySelector('button') as HTMLElement).hidden = !mayCancel;
  }

  private refuse(text: string): void {
    this.shown = null;
    this.canvas.show(null, false);
    this.wait(text);
  }

  private present(scene: Scene): void {
    this.wait(null);
    if (this.shown !== scene) this.begin(scene);
    this.describe(this.own?.box ?? null);
    if (this.rewrites.shown === null) this.light(this.selection.lit, true);
    else this.lightRewrite(true);
  }

  private begin(scene: Scene): void {
    this.shown = scene;
    this.own = null;
    const canvas = element('graph');
    canvas.dataset.boxes = String(scene.boxes.length);
    canvas.dataset.lines = String(scene.lines.length);
    canvas.dataset.regions = String(scene.frames.length);
    canvas.dataset.marked = String(scene.boxes.filter(({ mark }) => mark !== 'none').length);
    this.canvas.show(scene, false);
    this.legend(scene);
  }

  private legend(scene: Scene): void {
    const entry = (className: string, text: string): HTMLElement =>
      create('span', '', create('i', className), text);
    const entries: HTMLElement[] = [];
    const marks = new Set(scene.boxes.map(({ mark }) => mark));
    if (marks.has('gone')) entries.push(entry('gone', 'gone after this pass'));
    if (marks.has('fresh')) entries.push(entry('fresh', 'new'));
    if (scene.boxes.some(({ derivative }) => derivative)) entries.push(entry('derivative', 'derivative'));
    if (scene.lines.some(({ saved }) => saved)) entries.push(entry('saved', 'kept for a derivative'));
    if (scene.lines.some(({ cut }) => cut)) entries.push(entry('cut', 'through memory'));
    if (scene.of === 'nodes' && scene.boxes.some(({ kernel }) => kernel !== null))
      entries.push(entry('tint', 'one colour per kernel'));
    element('graph-legend').replaceChildren(...entries);
  }

  private select(box: number | null): void {
    this.describe(box);
    if (box === null || this.shown === null) return this.selection.choose(null);
    const { node, id } = this.shown.boxes[box];
    const chosen: Chosen = node === null ? { what: 'kernel', kernel: id } : { what: 'node', node };
    this.own = { box, chosen };
    this.selection.choose(chosen);
  }

  /** Highlights what belongs to the selection, in the picture or the text. */
  private light(lit: Lit | null, mayMove: boolean): void {
    if (this.report === null || element('view-stages').hidden) return;
    if (this.form.value === 'show-text') return this.text.light(lit === null ? new Set() : this.litLines(lit));
    if (this.shown === null) return;
    const isOwn = lit !== null && lit.chosen === this.own?.chosen;
    if (!isOwn && this.own !== null) {
      this.own = null;
      this.canvas.select(null);
      this.describe(null);
    }
    const boxes = lit === null ? null : Uint8Array.from(this.shown.boxes, ({ node, id }) =>
      Number(node === null ? lit.kernels.has(id) : lit.has(node)),
    );
    element('graph').dataset.lit = String(boxes?.reduce((sum, each) => sum + each, 0) ?? 0);
    // What was chosen in the graph is visible already.
    this.canvas.light(boxes, mayMove && !isOwn);
  }

  /** The lines of a stage's text that define highlighted nodes: "%3 = ...". */
  private litLines(lit: Lit): Set<number> {
    const { stage } = this.drawing(this.place);
    const nodes = new Set(stage.nodes.filter((node) => lit.has(node)).map(({ id }) => id));
    const lines = new Set<number>();
    stage.text.split('\n').forEach((text, i) => {
      const id = /^%(\d+) =/.exec(text)?.[1];
      if (id !== undefined && nodes.has(Number(id))) lines.add(i + 1);
    });
    return lines;
  }

  /** Called when the view is shown. */
  opened(): void {
    this.light(this.selection.lit, true);
  }

  private lines(box: number): Line[] {
    return describeBox(this.report as Report, this.drawing(this.place).stage, this.shown as Scene, box);
  }

  private hover(box: number | null, at: Place): void {
    this.tip.hidden = box === null;
    if (box === null || this.shown === null) return;
    const [title, ...rest] = this.lines(box);
    const shown = rest.slice(0, 3).map(({ label, value }) => create('p', '', `${label} ${value}`));
    this.tip.replaceChildren(create('strong', '', title.value), ...shown);
    placeTip(this.tip, element('graph-frame'), at);
  }

  private describe(box: number | null): void {
    if (box === null || this.shown === null) {
      const hint = 'Choose a box to see what it is. Scroll to zoom once the graph has the focus, drag to move.';
      this.details.replaceChildren(create('p', 'muted', hint));
      return;
    }
    const parts = this.lines(box).map(({ label, value }) =>
      create('p', '', create('span', 'muted', label === '' ? '' : `${label} `), value),
    );
    this.details.replaceChildren(...parts);
  }
}
