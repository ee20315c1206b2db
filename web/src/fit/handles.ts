// The points as handles on the plot. Pointer: drag to move; a double click or tap adds a point, or removes the one there.
// Keyboard: one point is in the tab order; arrows move it, n and p go to the next and previous one, Delete removes it, Insert
// adds one.

import { element } from '../views/dom.ts';
import { significant } from '../views/format.ts';
import { STEPS, type Equation } from './equations.ts';
import type { Plot } from './plot.ts';
import type { Point, Points } from './points.ts';

export interface HandleActions {
  /** Called when a drag begins or ends. */
  hold(held: boolean): void;
  /** edge: whether the point was stopped at the edge. */
  moved(point: Point, edge: boolean): void;
  add(variable: 0 | 1, step: number, value: number): void;
  /** Adds a point where there is the most room. */
  addAnywhere(): void;
  remove(point: Point): void;
}

/** The distance within which a point is grabbed, in pixels. */
const REACH = 26;
const DOUBLE_MS = 400;
const DOUBLE_PX = 24;
/** A press that moves no further counts as a click. */
const CLICK_PX = 4;
/** The distance that an arrow key moves a point, as a share of the axes; ten times as much with shift. */
const NUDGE = 1 / 100;

const HELP =
  'Points. Arrow keys move one, with shift further; n and p go to the next and the one before; Delete removes it, Insert adds one.';
/** A dot and a diamond, so that variables differ by more than colour. */
const SHAPES = ['M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0', 'M0,-7.5 L7.5,0 L0,7.5 L-7.5,0Z'];

function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

interface Handle {
  point: Point;
  group: SVGGElement;
  /** The line to the curve, whose length the loss squares. */
  distance: SVGLineElement;
}

interface Drag {
  handle: Handle;
  pointer: number;
  /** The offset from the pointer to the point. */
  dx: number;
  dy: number;
  from: { x: number; y: number };
  moves: boolean;
}

export class Handles {
  private readonly root = svg('svg', { class: 'handles', role: 'group', 'aria-label': HELP });
  private readonly distances = svg('g', { class: 'distances' });
  private readonly handles = new Map<Point, Handle>();
  private drag: Drag | null = null;
  private clicked = { at: -Infinity, x: 0, y: 0 };
  /** The point in the tab order. */
  private current: Point | null = null;

  constructor(
    private readonly plot: Plot,
    private readonly equation: Equation,
    private readonly points: Points,
    private readonly actions: HandleActions,
  ) {
    this.root.append(this.distances);
    this.root.addEventListener('pointerdown', (event) => this.down(event));
    this.root.addEventListener('pointermove', (event) => this.move(event));
    this.root.addEventListener('pointerup', (event) => this.up(event));
    this.root.addEventListener('pointercancel', (event) => this.up(event));
    this.root.addEventListener('keydown', (event) => this.key(event));
    plot.area.append(this.root);
  }

  /** Draws the points as they are now. */
  draw(): void {
    const there = new Set(this.points.list);
    for (const [point, { group, distance }] of this.handles)
      if (!there.has(point)) {
        group.remove();
        distance.remove();
        this.handles.delete(point);
      }
    if (this.current === null || !there.has(this.current)) this.current = this.inOrder()[0] ?? null;
    for (const point of this.points.list) this.place(this.handles.get(point) ?? this.make(point));
  }

  focus(point: Point | undefined): void {
    if (point === undefined) return;
    this.current = point;
    this.draw();
    this.handles.get(point)?.group.focus();
  }

  private make(point: Point): Handle {
    const group = svg('g', { class: `handle of-${point.variable}`, role: 'slider', 'data-testid': 'fit-point' });
    group.append(svg('circle', { class: 'reach', r: '20' }), svg('path', { class: 'dot', d: SHAPES[point.variable] }));
    const [low, high] = this.equation.range;
    group.setAttribute('aria-valuemin', String(low));
    group.setAttribute('aria-valuemax', String(high));
    group.addEventListener('focus', () => {
      this.current = point;
      this.draw();
    });
    const distance = svg('line', { class: `of-${point.variable}` });
    const handle = { point, group, distance };
    this.handles.set(point, handle);
    this.root.append(group);
    this.distances.append(distance);
    return handle;
  }

  private place({ point, group, distance }: Handle): void {
    const { end, unit, variables } = this.equation;
    const [x, y] = [this.plot.x(point.step), this.plot.y(point.value)];
    group.setAttribute('transform', `translate(${x.toFixed(1)},${y.toFixed(1)})`);
    group.setAttribute('tabindex', point === this.current ? '0' : '-1');
    group.setAttribute('aria-label', `${variables[point.variable].name}, ${unit} ${significant((point.step * end) / STEPS)}`);
    group.setAttribute('aria-valuenow', significant(point.value));
    const fitted = this.plot.fitted(point.variable, point.step) ?? NaN;
    const curve = Number.isFinite(fitted) ? this.plot.y(fitted) : y;
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: y, y2: curve })) distance.setAttribute(name, value.toFixed(1));
  }

  private inOrder(): Point[] {
    return [...this.points.list].sort((a, b) => a.variable - b.variable || a.step - b.step || a.id - b.id);
  }

  private at(event: PointerEvent): { x: number; y: number } {
    const box = this.root.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** The closest handle within REACH. */
  private nearest(x: number, y: number): Handle | null {
    let found: Handle | null = null;
    let least = REACH;
    for (const handle of this.handles.values()) {
      const distance = Math.hypot(this.plot.x(handle.point.step) - x, this.plot.y(handle.point.value) - y);
      if (distance < least) [found, least] = [handle, distance];
    }
    return found;
  }

  private down(event: PointerEvent): void {
    if (this.drag !== null || event.button !== 0) return;
    const { x, y } = this.at(event);
    const handle = this.nearest(x, y);
    const isDouble = event.timeStamp - this.clicked.at < DOUBLE_MS && Math.hypot(x - this.clicked.x, y - this.clicked.y) < DOUBLE_PX;
    this.clicked = { at: isDouble ? -Infinity : event.timeStamp, x, y };
    if (isDouble) {
      event.preventDefault();
      if (handle !== null) this.actions.remove(handle.point);
      else this.addAt(x, y);
      return;
    }
    if (handle === null) return;
    event.preventDefault();
    this.root.setPointerCapture(event.pointerId);
    const { point, group } = handle;
    const [dx, dy] = [this.plot.x(point.step) - x, this.plot.y(point.value) - y];
    this.drag = { handle, pointer: event.pointerId, dx, dy, from: { x, y }, moves: false };
    group.focus({ preventScroll: true });
    group.classList.add('held');
    // Moves it above its neighbours.
    this.root.append(group);
  }

  private move(event: PointerEvent): void {
    const { drag } = this;
    if (event.pointerId !== drag?.pointer) return;
    const { x, y } = this.at(event);
    if (!drag.moves) {
      if (Math.hypot(x - drag.from.x, y - drag.from.y) < CLICK_PX) return;
      drag.moves = true;
      this.clicked.at = -Infinity;
      this.actions.hold(true);
    }
    this.to(drag.handle.point, this.plot.step(x + drag.dx), this.plot.value(y + drag.dy));
  }

  private up(event: PointerEvent): void {
    const { drag } = this;
    if (event.pointerId !== drag?.pointer) return;
    this.drag = null;
    drag.handle.group.classList.remove('held');
    if (drag.moves) this.actions.hold(false);
  }

  private to(point: Point, step: number, value: number): void {
    const edge = this.points.move(point, step, value);
    this.actions.moved(point, edge);
  }

  /** Adds a point to the variable whose curve is closer. */
  private addAt(x: number, y: number): void {
    const step = Math.min(STEPS, Math.max(0, Math.round(this.plot.step(x))));
    const [first, second] = ([0, 1] as const).map((i) => Math.abs(this.plot.y(this.plot.fitted(i, step) ?? NaN) - y));
    this.actions.add(second < first ? 1 : 0, step, this.plot.value(y));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.current === null) return;
    const point = this.current;
    const order = this.inOrder();
    const place = order.indexOf(point);
    const [low, high] = this.equation.range;
    const far = event.shiftKey ? 10 : 1;
    const [dx, dy] = [far * NUDGE * STEPS, far * NUDGE * (high - low)];
    const move = (steps: number, value: number): void => this.to(point, point.step + Math.round(steps), point.value + value);
    const acts: Record<string, () => void> = {
      ArrowLeft: () => move(-dx, 0),
      ArrowRight: () => move(dx, 0),
      ArrowUp: () => move(0, dy),
      ArrowDown: () => move(0, -dy),
      n: () => this.focus(order[(place + 1) % order.length]),
      p: () => this.focus(order[(place + order.length - 1) % order.length]),
      Delete: () => this.removeFocused(point, order[place + 1] ?? order[place - 1]),
      Backspace: () => this.removeFocused(point, order[place + 1] ?? order[place - 1]),
      Insert: () => this.actions.addAnywhere(),
    };
    if (acts[event.key] === undefined) return;
    event.preventDefault();
    acts[event.key]();
  }

  private removeFocused(point: Point, next: Point | undefined): void {
    this.actions.remove(point);
    if (next === undefined) element('fit-add').focus();
    else this.focus(next);
  }
}
