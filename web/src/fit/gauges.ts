// A row for each parameter: its value with its standard error, the true value, and a gauge of both, on which the start of the
// search can be dragged.

import { create, setText, setValue } from '../views/dom.ts';
import { NONE, significant } from '../views/format.ts';
import { coordinate, isPositive, valueAt, type Parameter } from './equations.ts';
import type { Fit } from './protocol.ts';

const NOTCHES = 200;
const MOST_DECIMALS = 4;

/** The value with the decimals of the first two digits of its error. */
function rounded(value: number, error: number): string {
  const decimals = error > 0 ? 1 - Math.floor(Math.log10(error)) : MOST_DECIMALS;
  return value.toFixed(Math.min(MOST_DECIMALS, Math.max(0, decimals)));
}

class Gauge {
  readonly element: HTMLLIElement;
  private readonly fitted = create('b', '', NONE);
  private readonly error = create('span', 'error');
  private readonly bar = create('i', 'spread');
  private readonly dot = create('i', 'dot');
  private readonly input = create('input', '');
  private readonly low: number;
  private readonly high: number;

  constructor(
    private readonly parameter: Parameter,
    onStart: () => void,
    onHold: (held: boolean) => void,
  ) {
    const { symbol, meaning, truth, range } = parameter;
    [this.low, this.high] = range.map((value) => coordinate(parameter, value));
    const tick = create('i', 'truth');
    tick.style.left = this.place(coordinate(parameter, truth));
    Object.assign(this.input, { type: 'range', min: '0', max: String(NOTCHES), step: '1' });
    this.input.setAttribute('aria-label', `Start of ${symbol}, ${meaning}`);
    this.input.addEventListener('input', () => {
      this.say();
      onStart();
    });
    this.input.addEventListener('pointerdown', () => onHold(true));
    for (const end of ['pointerup', 'pointercancel', 'blur']) this.input.addEventListener(end, () => onHold(false));
    const head = create('p', '', create('var', '', symbol), ' ', create('span', 'meaning', meaning));
    const values = create('p', 'values', this.fitted, ' ', this.error, create('span', 'true-value', create('span', 'visually-hidden', 'truly '), significant(truth)));
    this.element = create('li', '', head, values, create('div', 'gauge', create('i', 'track'), this.bar, tick, this.dot, this.input));
    this.element.dataset.symbol = symbol;
    this.element.dataset.truth = String(truth);
  }

  /** Where the search begins, as a coordinate. */
  get start(): number {
    return this.low + (Number(this.input.value) / NOTCHES) * (this.high - this.low);
  }

  set start(at: number) {
    this.input.value = String(Math.round(((at - this.low) / (this.high - this.low)) * NOTCHES));
    this.say();
  }

  show(at: number, spread: number | null): void {
    const value = valueAt(this.parameter, at);
    const error = spread === null ? null : isPositive(this.parameter) ? value * spread : spread;
    setValue(this.fitted, error === null ? significant(value) : rounded(value, error), value);
    setText(this.error, error === null ? '' : `± ${rounded(error, error)}`);
    this.dot.style.left = this.place(at);
    this.bar.hidden = spread === null;
    if (spread === null) return;
    this.bar.style.left = this.place(at - spread);
    this.bar.style.right = `calc(100% - ${this.place(at + spread)})`;
  }

  clear(): void {
    setValue(this.fitted, NONE, null);
    setText(this.error, '');
    this.bar.hidden = true;
  }

  private say(): void {
    this.input.setAttribute('aria-valuetext', significant(valueAt(this.parameter, this.start)));
  }

  /** The CSS position of a coordinate: the centre of a slider's thumb moves between half its width from either end. */
  private place(at: number): string {
    const share = Math.min(1, Math.max(0, (at - this.low) / (this.high - this.low)));
    return `calc(var(--thumb) / 2 + ${share.toFixed(4)} * (100% - var(--thumb)))`;
  }
}

export class Gauges {
  private gauges: Gauge[] = [];

  constructor(
    private readonly list: HTMLElement,
    private readonly onStart: () => void,
    private readonly onHold: (held: boolean) => void,
  ) {}

  /** Shows other parameters, with their default starts. */
  open(parameters: readonly Parameter[]): void {
    this.gauges = parameters.map((parameter) => new Gauge(parameter, this.onStart, this.onHold));
    this.list.replaceChildren(...this.gauges.map(({ element }) => element));
    this.starts = parameters.map((parameter) => coordinate(parameter, parameter.start));
  }

  get starts(): Float64Array {
    return Float64Array.from(this.gauges, ({ start }) => start);
  }

  set starts(at: ArrayLike<number>) {
    this.gauges.forEach((gauge, i) => (gauge.start = at[i]));
  }

  show({ at, spread }: Fit): void {
    this.gauges.forEach((gauge, i) => gauge.show(at[i], spread?.[i] ?? null));
  }

  clear(): void {
    for (const gauge of this.gauges) gauge.clear();
  }
}
