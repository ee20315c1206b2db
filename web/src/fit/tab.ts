// The Fit tab: points near a solution of a differential equation, which is fitted to them again in every frame in which
// something moves. Loaded when it is first opened.

import '../style/code.css';
import '../style/fit.css';
import { generator } from '../trainer/random.ts';
import { create, element, perFrame, setText, setValue } from '../views/dom.ts';
import { count, plural, significant } from '../views/format.ts';
import { Address } from './address.ts';
import { CodeCard } from './code-card.ts';
import { EQUATIONS, coordinate, isEquation, type Equation, type EquationName } from './equations.ts';
import { Fitter } from './fitter.ts';
import { formula } from './formula.ts';
import { Frames } from './frames.ts';
import { Gauges } from './gauges.ts';
import { Handles } from './handles.ts';
import panel from './panel.html?raw';
import { Plot } from './plot.ts';
import { Points, type Point } from './points.ts';
import type { Curves, Fit, Search } from './protocol.ts';

export interface Surroundings {
  /** Called before a measurement: nothing else should use the cores. */
  quiet(): void;
  /** Reports an error in the page's address. */
  address(message: string): void;
}

const FIRST: EquationName = 'prey';
/** Noise of the points, in percent. */
const NOISE = 5;
/** The number of fits whose median time is shown. */
const TIMES = 15;
/** A new start lies within this share of a gauge's range around its middle. */
const START_SHARE = 0.6;
/** A loss counts as not the lowest if it is higher by this factor, which is more than rounding. */
const HIGHER = 1.01;
const READY = 'Drag a point: the equation follows. Double-click to add or remove one.';

/** Everything that belongs to the shown equation. */
interface Scene {
  name: EquationName;
  equation: Equation;
  points: Points;
  plot: Plot;
  handles: Handles;
  /** The true curves; null until the program is compiled. */
  truth: Curves | null;
}

export class FitTab {
  private scene: Scene | null = null;
  private readonly fitter: Fitter;
  private readonly gauges: Gauges;
  private readonly frames: Frames;
  private readonly buttons = new Map<EquationName, HTMLButtonElement>();
  private readonly noise: HTMLInputElement;
  private readonly code: CodeCard;
  private readonly address = new Address();
  /** The points in the address when the page was opened. */
  private asked = this.address.points;
  private seed = 1;
  private startSeed = 0;
  private shown: Fit | null = null;
  /** The last fit with a finite result; searches also begin there. */
  private last: Fit | null = null;
  /** Whether starts have changed since the points have: then the search begins only there, and the curves at the start are
   *  shown. */
  private fromStart = false;
  /** The lowest loss for these points. */
  private lowest = Infinity;
  private edge = false;
  private times: number[] = [];
  private readonly draw = perFrame(() => {
    this.scene?.plot.draw();
    this.scene?.handles.draw();
  });

  constructor(
    root: HTMLElement,
    private readonly surroundings: Surroundings,
  ) {
    root.innerHTML = panel;
    this.fitter = new Fitter({
      search: () => this.search(),
      fitted: (fit, search) => this.show(fit, search),
      failed: (error) => this.say(`The fit failed: ${error instanceof Error ? error.message : String(error)}`, true),
    });
    this.gauges = new Gauges(element('fit-parameters'), () => this.startsMoved(), (held) => this.hold(held));
    this.frames = new Frames((rate, longest) => {
      setValue(element('fit-frames'), rate.toFixed(0), rate);
      setText(element('fit-frames-of'), `the longest took ${longest.toFixed(0)} ms`);
    });
    this.noise = element<HTMLInputElement>('fit-noise');
    this.noise.value = String(NOISE);
    this.code = new CodeCard();
    this.bind();
    const { equation, unknown } = this.address;
    if (unknown !== null) surroundings.address(`there is no equation ${unknown}; this is ${EQUATIONS[FIRST].title}`);
    void this.choose(equation ?? FIRST);
  }

  private bind(): void {
    for (const [name, { title }] of Object.entries(EQUATIONS)) {
      if (!isEquation(name)) continue;
      const button = create('button', '', title);
      button.type = 'button';
      button.dataset.testid = `fit-equation-${name}`;
      button.addEventListener('click', () => {
        this.asked = null;
        this.address.choose(name);
        void this.choose(name);
      });
      this.buttons.set(name, button);
    }
    element('fit-equation').append(...this.buttons.values());
    const on = (id: string, act: () => void): void => element(id).addEventListener('click', act);
    on('fit-add', () => this.addAnywhere());
    on('fit-points', () => {
      this.seed++;
      this.scatter();
    });
    on('fit-start', () => this.newStart());
    on('fit-reset', () => this.reset());
    this.noise.addEventListener('input', () => this.scatter());
  }

  /** Shows another equation, in its initial state. */
  private async choose(name: EquationName): Promise<void> {
    if (this.scene?.name === name && this.scene.truth !== null) return;
    this.scene?.plot.dispose();
    const equation: Equation = EQUATIONS[name];
    const points = new Points(equation);
    const plot = new Plot(element('fit-plot'), equation, () => this.draw());
    const handles = new Handles(plot, equation, points, {
      hold: (held) => this.hold(held),
      moved: (_, edge) => this.pointsChanged(edge),
      add: (variable, step, value) => this.add(variable, step, value),
      addAnywhere: () => this.addAnywhere(),
      remove: (point) => {
        points.remove(point);
        this.pointsChanged();
      },
    });
    const scene: Scene = { name, equation, points, plot, handles, truth: null };
    this.scene = scene;
    this.last = this.shown = null;
    this.describe(scene);
    this.say('Compiling the solver, its gradient and L-BFGS…');
    try {
      const at = (which: 'truth' | 'start'): Float64Array =>
        Float64Array.from(equation.parameters, (each) => coordinate(each, each[which]));
      const truth = await this.fitter.open(name, at('truth'), at('start'));
      if (this.scene !== scene) return;
      scene.truth = truth;
      plot.setTrue(truth);
      const { asked } = this;
      this.reset();
      if (asked !== null && points.read(asked)) this.pointsChanged();
      else if (asked !== null) this.surroundings.address('the points in the address are damaged; these are others');
      for (const button of element('fit').querySelectorAll<HTMLButtonElement | HTMLInputElement>('.fit-tools :disabled:not(#fit-code-save)')) button.disabled = false;
      await this.code.show(() => this.fitter.code(name));
    } catch (error) {
      if (this.scene === scene) this.say(`The solver could not be compiled: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  }

  private describe({ name, equation }: Scene): void {
    for (const [other, button] of this.buttons) button.setAttribute('aria-pressed', String(other === name));
    setText(element('fit-story'), equation.story);
    element('fit-formulas').innerHTML = equation.formulas.map(formula).join('');
    const names = equation.variables.map(({ name: text }, i) => [create('i', i === 0 ? 'loss' : 'accuracy'), text, ' ']);
    element('fit-key').replaceChildren(...names.flat(), create('i', 'true'), 'true ', create('i', 'from'), 'start');
    this.gauges.open(equation.parameters);
    this.gauges.clear();
    this.times = [];
    for (const id of ['fit-loss', 'fit-ms', 'fit-steps']) setValue(element(id), '–', null);
  }

  private reset(): void {
    if (this.scene === null) return;
    this.noise.value = String(NOISE);
    this.seed = 1;
    this.gauges.starts = this.scene.equation.parameters.map((each) => coordinate(each, each.start));
    this.last = null;
    this.scatter();
  }

  private scatter(): void {
    if (this.scene?.truth == null) return;
    setText(element('fit-noise-value'), `${this.noise.value} %`);
    this.scene.points.scatter(this.scene.truth, Number(this.noise.value) / 100, this.seed);
    this.asked = null;
    this.address.forget();
    this.pointsMoved();
  }

  private add(variable: 0 | 1, step: number, value: number): void {
    const { points, handles } = this.scene!;
    const point = points.add(variable, step, value);
    this.pointsChanged();
    handles.focus(point);
  }

  /** Adds a point to the variable that has fewer, on its curve. */
  private addAnywhere(): void {
    const { points, plot, equation } = this.scene!;
    const seconds = points.list.filter((each: Point) => each.variable === 1).length;
    const variable = 2 * seconds < points.list.length ? 1 : 0;
    const step = points.gap(variable);
    this.add(variable, step, plot.fitted(variable, step) ?? (equation.range[0] + equation.range[1]) / 2);
  }

  private newStart(): void {
    const { equation } = this.scene!;
    const next = generator(++this.startSeed);
    this.gauges.starts = equation.parameters.map((each) => {
      const [low, high] = each.range.map((value) => coordinate(each, value));
      return (low + high) / 2 + START_SHARE * (high - low) * (next() / 2 ** 32 - 0.5);
    });
    this.startsMoved();
  }

  private hold(held: boolean): void {
    if (held) this.surroundings.quiet();
    this.frames.hold(held);
    if (held || !this.edge) return;
    this.edge = false;
    this.tell();
  }

  /** Called when the user has changed points: from now on the address contains them. */
  private pointsChanged(edge = false): void {
    const { name, points } = this.scene!;
    this.address.keep(name, () => points.text);
    this.pointsMoved(edge);
  }

  private pointsMoved(edge = false): void {
    this.edge = edge;
    this.fromStart = false;
    this.scene?.plot.setFrom(null);
    this.draw();
    this.fitter.ask();
  }

  private startsMoved(): void {
    if (!this.fromStart) this.lowest = this.last?.loss ?? Infinity;
    this.fromStart = true;
    this.fitter.ask();
  }

  private search(): Search | null {
    const { scene } = this;
    if (scene?.truth == null) return null;
    if (scene.points.list.length === 0) {
      this.say('There is no point to fit to: double-click in the plot, or press Add point.', true);
      return null;
    }
    const start = this.gauges.starts;
    const starts = this.last === null || this.fromStart ? [start] : [this.last.at, start];
    return { equation: scene.name, seen: scene.points.seen(), starts, from: this.fromStart };
  }

  private show(fit: Fit, { equation }: Search): void {
    const { scene } = this;
    if (scene === null || scene.name !== equation) return;
    this.shown = fit;
    const isNumber = Number.isFinite(fit.loss);
    if (isNumber) {
      this.last = fit;
      this.lowest = Math.min(this.lowest, fit.loss);
      scene.plot.setFitted(fit.curves);
      this.gauges.show(fit);
      this.showFigures(fit);
    }
    if (this.fromStart) scene.plot.setFrom(fit.from);
    for (const id of ['fit-plot', 'fit-parameters']) element(id).classList.toggle('stale', !isNumber);
    this.tell();
    this.draw();
  }

  private showFigures({ loss, ms, steps, converged }: Fit): void {
    this.times = [...this.times.slice(1 - TIMES), ms];
    const median = [...this.times].sort((a, b) => a - b)[this.times.length >> 1];
    setValue(element('fit-loss'), loss.toPrecision(3), loss);
    setText(element('fit-loss-of'), `off by ${significant(100 * Math.sqrt(loss), 2)} % of the size`);
    setValue(element('fit-ms'), significant(median), median);
    const total = steps.reduce((sum, each) => sum + each, 0);
    setValue(element('fit-steps'), count(total), total);
    const [warm, cold] = steps;
    setText(element('fit-steps-of'), cold === undefined ? `from the start${converged ? '' : ', stopped'}` : `${warm} from here, ${cold} anew`);
  }

  private tell(): void {
    const { scene, shown } = this;
    if (scene === null || shown === null || scene.points.list.length === 0) return;
    const [fitted, seen] = [scene.equation.parameters.length, scene.points.list.length];
    if (!Number.isFinite(shown.loss))
      this.say('From this start the solver diverges: its values are no numbers. Drag a start, or press New start.', true);
    else if (this.edge) this.say('The edge of the plot: the point goes no further.');
    else if (this.fromStart && shown.loss > HIGHER * this.lowest)
      this.say(`From this start the search ends in another valley. The loss has been ${this.lowest.toPrecision(3)}.`);
    else if (seen < fitted) this.say(`${plural(seen, 'point')} for ${fitted} parameters: many curves go through, and this is one.`);
    else if (!shown.converged) this.say('The search gave up before the slope was 0. From another start it may get further.');
    else this.say(READY);
  }

  private say(text: string, problem = false): void {
    const line = element('fit-notice');
    setText(line, text);
    line.classList.toggle('problem', problem);
  }
}
