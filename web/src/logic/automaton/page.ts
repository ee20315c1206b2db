// The page of automata: settings, live training, the resulting circuit, and the large grid. Training runs in slices, each of
// which is a question to the worker, so that a pause or another target can come in between.

import { ProblemError } from '../../compiler/rpc.ts';
import { History } from '../../state/history.ts';
import { create, element, setText, setValue } from '../../views/dom.ts';
import { count, plural, significant, withHint } from '../../views/format.ts';
import { readSettings, writeSettings } from '../address.ts';
import { CircuitCard } from '../circuit/circuit-card.ts';
import { LargeGrid } from '../circuit/large-grid.ts';
import type { Start } from '../circuit/protocol.ts';
import { Films } from './films.ts';
import { SettingsForm } from './form.ts';
import { AutomatonLossChart } from './loss-chart.ts';
import panel from './panel.html?raw';
import { PICTURES, emptyPicture, isEmpty } from './pictures.ts';
import type { CircuitFacts, Progress, Taken } from './protocol.ts';
import { TARGETS, type Settings } from './targets.ts';
import { Trainer } from './trainer.ts';

const SLICE_MS = 60;
/** A drawing has to rest this long before an automaton is made for it. */
const REST_MS = 500;
/** The largest file of a circuit, in bytes: a million gates and more. */
const MOST_FILE = 1 << 25;
const FIRST_PICTURE = 'heart';

export class AutomatonPage {
  private readonly trainer = new Trainer();
  private readonly history = new History();
  private readonly chart: AutomatonLossChart;
  private readonly films: Films;
  private readonly form: SettingsForm;
  private readonly card: CircuitCard;
  private readonly grid: LargeGrid;
  private readonly start: HTMLButtonElement;
  /** The number of the current automaton; answers about earlier ones are dropped. */
  private turn = 0;
  private ready: Promise<boolean> = Promise.resolve(false);
  private running = false;
  /** Counts starts: the last slice of an earlier start may still be running. */
  private loop = 0;
  private epoch = 0;
  /** The timer of a picture for which no automaton is made yet, because it is still being drawn. */
  private resting: number | undefined;
  /** The value that the current stroke on the target gives its cells. */
  private ink = 1;

  constructor(
    root: HTMLElement,
    private readonly quiet: () => void,
  ) {
    root.innerHTML = panel;
    this.start = element('automaton-start');
    this.chart = new AutomatonLossChart(this.history);
    this.films = new Films({
      press: (x, y, first) => this.paint(x, y, first),
      marked: false,
      describe: (x, y) => `Column ${x + 1}, row ${y + 1}: ${this.isDrawn && this.form.current.picture[y]?.[x] === 1 ? 'ink' : 'paper'}.`,
    });
    this.card = new CircuitCard(
      (form) => this.trainer.write(form),
      (file) => void this.open(file),
      (error) => this.sayError(error),
    );
    this.grid = new LargeGrid(() => {
      this.pause('Paused.');
      this.quiet();
    }, (error) => this.sayError(error));
    const { settings, damaged } = readSettings(PICTURES.get(FIRST_PICTURE)!);
    this.form = new SettingsForm(settings, {
      changed: (changed) => {
        writeSettings(changed);
        this.reset('Started over.');
      },
      refused: (text) => this.say(text, true),
      mended: (text) => this.say(text),
    });
    this.bind();
    this.reset(damaged.length === 0 ? 'Press Start.' : `The address has no usable ${damaged.join(', ')}: the usual is taken. Press Start.`);
  }

  /** Stops everything on this page that uses the cores. */
  rest(): void {
    this.pause('Paused.');
    this.grid.rest();
  }

  private get takeButton(): HTMLButtonElement {
    return element('automaton-take');
  }

  private get isDrawn(): boolean {
    return TARGETS[this.form.current.target].drawn;
  }

  private bind(): void {
    const on = (id: string, act: () => void): void => element(id).addEventListener('click', act);
    on('automaton-start', () => void this.train());
    on('automaton-pause', () => this.pause('Paused.'));
    on('automaton-reset', () => {
      this.adoptDrawn();
      this.reset('A fresh automaton. Press Start.');
    });
    on('automaton-take', () => void this.take());
    on('automaton-clear', () => this.redraw(emptyPicture()));
    element('automaton-glyphs').append(
      ...[...PICTURES].map(([name, picture]) => {
        const button = create('button', '', name);
        button.type = 'button';
        button.dataset.testid = `automaton-glyph-${name}`;
        button.addEventListener('click', () => this.redraw(picture.map((row) => [...row])));
        return button;
      }),
    );
  }

  private reset(text: string): void {
    const turn = ++this.turn;
    clearTimeout(this.resting);
    this.resting = undefined;
    this.setRunning(false);
    this.epoch = 0;
    this.history.clear();
    this.chart.draw();
    this.card.clear();
    this.grid.clear();
    for (const id of ['automaton-epoch', 'automaton-epoch-ms', 'automaton-loss', 'automaton-hard-accuracy']) setValue(element(id), '–', null);
    setText(element('automaton-epoch-of'), 'not started');
    this.takeButton.disabled = true;
    const { current } = this.form;
    setText(element('automaton-story'), TARGETS[current.target].story);
    element('automaton-drawing').hidden = !this.isDrawn;
    element('automaton-wanted').classList.toggle('drawable', this.isDrawn);
    this.ready = this.make(turn, current, text);
  }

  private async make(turn: number, settings: Settings, text: string): Promise<boolean> {
    if (TARGETS[settings.target].drawn && isEmpty(settings.picture)) {
      this.showPicture(settings.picture);
      this.say('There is nothing to learn yet: draw a picture in the target, or choose one.', true);
      return false;
    }
    this.say('Making the gates…');
    try {
      const { threads, gates, film } = await this.trainer.make(settings);
      if (turn !== this.turn) return false;
      this.films.show(film);
      setText(element('automaton-threads'), `${plural(threads, 'thread')}, ${count(gates)} gates`);
      this.takeButton.disabled = false;
      this.say(text);
      return true;
    } catch (error) {
      if (turn === this.turn) this.fail(error);
      return false;
    }
  }

  private async train(): Promise<void> {
    if (this.running) return;
    this.adoptDrawn();
    this.grid.rest();
    this.quiet();
    this.setRunning(true);
    // If the automaton failed, another one is made.
    const { turn: before } = this;
    if (!(await this.ready) && before === this.turn) {
      this.reset('');
      this.setRunning(true);
    }
    const { turn } = this;
    if (!(await this.ready)) {
      if (turn === this.turn) this.setRunning(false);
      return;
    }
    if (!this.running || turn !== this.turn) return;
    this.say('Training…');
    const loop = ++this.loop;
    try {
      while (this.running && turn === this.turn && loop === this.loop) {
        const progress = await this.trainer.train(SLICE_MS);
        if (turn !== this.turn) return;
        this.show(progress);
        if (!progress.solved) continue;
        this.setRunning(false);
        await this.take(`Solved in ${plural(progress.epoch, 'epoch')}`);
      }
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  private pause(text?: string): void {
    if (!this.running) return;
    this.setRunning(false);
    if (text !== undefined) this.say(text);
  }

  private setRunning(running: boolean): void {
    const hadFocus = document.activeElement;
    const pause = element<HTMLButtonElement>('automaton-pause');
    this.running = running;
    this.start.disabled = running;
    pause.disabled = !running;
    // A disabled button loses the focus, so the button that replaces it gets it.
    if (hadFocus === this.start && running) pause.focus();
    if (hadFocus === pause && !running) this.start.focus();
  }

  private show({ epoch, losses, epochMs, accuracy, film }: Progress): void {
    losses.forEach((loss, i) => this.history.push(epoch - losses.length + 1 + i, { loss, norm: NaN, rate: NaN, ms: NaN }));
    this.epoch = epoch;
    this.chart.draw();
    setValue(element('automaton-epoch'), count(epoch), epoch);
    setText(element('automaton-epoch-of'), this.isRandom ? 'fresh grids each' : 'the same grid each');
    setValue(element('automaton-epoch-ms'), epochMs === null ? '–' : significant(epochMs), epochMs);
    const mean = this.history.meanLoss ?? NaN;
    setValue(element('automaton-loss'), mean >= 1e-3 ? significant(mean) : mean.toExponential(1), mean);
    if (accuracy !== null) setValue(element('automaton-hard-accuracy'), `${(100 * accuracy).toFixed(accuracy === 1 ? 0 : 2)} %`, accuracy);
    // A film of the last automaton must not replace what is drawn for the next one.
    if (film !== null && this.resting === undefined) this.films.show(film);
    if (!Number.isFinite(mean)) {
      this.pause();
      this.say('The loss is no longer a number: reset, and try a lower learning rate.', true);
    }
  }

  private get isRandom(): boolean {
    return this.form.current.target.startsWith('checkerboard');
  }

  /** Takes the circuit out of the gates as they are now. */
  private async take(solved?: string): Promise<void> {
    this.adoptDrawn();
    const { turn } = this;
    this.pause();
    if (!(await this.ready) || turn !== this.turn) return; // the notice says why there is no automaton
    this.takeButton.disabled = true;
    this.say(`${solved === undefined ? '' : `${solved}. `}Taking the circuit out and pruning it…`);
    try {
      const facts = await this.trainer.circuit();
      if (turn !== this.turn || facts.taken === null) return;
      this.takeButton.disabled = false;
      await this.showCircuit(facts, facts.taken, solved);
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  /** Opens a circuit saved as JSON, in place of the last one. */
  private async open(file: File): Promise<void> {
    const { turn } = this;
    this.pause();
    this.say(`Opening ${file.name}…`);
    try {
      if (file.size > MOST_FILE) return this.say(`${file.name} has ${count(file.size >> 20)} MiB, a circuit here at most ${count(MOST_FILE >> 20)}.`, true);
      const facts = await this.trainer.read(await file.text());
      if (turn !== this.turn) return;
      this.say(`${file.name} has ${plural(facts.gates.length, 'gate')}. They are drawn below, and run on the large grid.`);
      await Promise.all([this.card.show(facts), this.grid.show(facts, 'random')]);
    } catch (error) {
      if (turn === this.turn) this.sayError(error);
    }
  }

  private async showCircuit(facts: CircuitFacts, taken: Taken, solved?: string): Promise<void> {
    const { accuracy } = taken;
    const { gates } = facts;
    setValue(element('automaton-hard-accuracy'), `${(100 * accuracy).toFixed(accuracy === 1 ? 0 : 2)} %`, accuracy);
    const what = solved ?? (accuracy === 1 ? 'It does its task' : `After ${plural(this.epoch, 'epoch')} it does not do its task yet`);
    const then = this.running ? ' Training goes on.' : '';
    this.say(`${what}: the circuit has ${plural(gates.length, 'gate')}. It is drawn below, and runs on the large grid.${then}`);
    const starts: Start = this.isDrawn ? 'seeds' : this.form.current.target === 'life' ? 'soup' : 'random';
    await Promise.all([this.card.show(facts), this.grid.show(facts, starts)]);
  }

  private paint(x: number, y: number, first: boolean): void {
    if (!this.isDrawn) return;
    const picture = this.form.current.picture.map((row) => [...row]);
    if (first) this.ink = 1 - picture[y][x];
    picture[y][x] = this.ink;
    this.form.draw(picture);
    this.showPicture(picture);
    clearTimeout(this.resting);
    this.pause();
    this.resting = window.setTimeout(() => this.adoptDrawn(), REST_MS);
  }

  /** Makes an automaton for what was drawn, if there is none yet. */
  private adoptDrawn(): void {
    if (this.resting !== undefined) this.form.setPicture(this.form.current.picture);
  }

  private redraw(picture: number[][]): void {
    this.showPicture(picture);
    this.form.setPicture(picture);
  }

  private showPicture(picture: number[][]): void {
    this.films.showTarget({ width: picture[0].length, height: picture.length, values: picture.flat().map((bit) => 255 * bit) });
  }

  /** Called when the automaton cannot continue. */
  private fail(error: unknown): void {
    if (error instanceof ProblemError && error.name === 'Cancelled') return;
    this.setRunning(false);
    this.takeButton.disabled = true;
    this.ready = Promise.resolve(false);
    this.sayError(error, ' Start begins with a fresh automaton.');
  }

  private sayError(error: unknown, then = ''): void {
    if (error instanceof ProblemError && error.name === 'Cancelled') return;
    this.say(`${error instanceof ProblemError ? withHint(error.problem) : String(error)}.${then}`, true);
  }

  private say(text: string, problem = false): void {
    const line = element('automaton-notice');
    setText(line, text);
    line.classList.toggle('problem', problem);
  }
}
