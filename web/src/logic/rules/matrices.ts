// Relations as matrices: a row per member of the first domain, a column per combination of the others. Facts appear as rounds
// derive them; those of the shown round have the accent colour.

import { create, setText } from '../../views/dom.ts';
import { count, plural, significant } from '../../views/format.ts';
import { CellCanvas } from '../cell-canvas.ts';
import { factText } from './facts.ts';
import type { Axis, Cell, Relation } from './protocol.ts';

/** The most painted cells per side; larger matrices are painted in blocks. */
const MOST_SIDE = 200;
/** Matrices with at most so many members have names beside them. */
const MOST_NAMES = 14;
/** The largest cell; and the largest width of a matrix, which it only reaches if its cells need their least size. */
const MOST_CELL_PX = 36;
const LEAST_CELL_PX = 22;
const USUAL_PX = 180;
const MOST_PX = 300;

const memberOf = ({ names }: Axis, at: number): Cell => names?.[at] ?? at;

class Matrix {
  readonly element: HTMLElement;
  private readonly canvas: CellCanvas;
  private readonly about = create('span', 'about');
  private readonly rows: number;
  private readonly columns: number;
  /** Entries of the matrix per side of a painted cell. */
  private readonly block: number;
  private iteration = 0;

  constructor(
    private readonly relation: Relation,
    onFact: (fact: string) => void,
  ) {
    const { name, axes } = relation;
    const sizes = axes.map(({ size }) => size);
    const isRow = axes.length < 2;
    this.rows = isRow ? 1 : sizes[0];
    this.columns = isRow ? (sizes[0] ?? 1) : sizes.slice(1).reduce((product, size) => product * size, 1);
    this.block = Math.max(1, Math.ceil(Math.max(this.rows, this.columns) / MOST_SIDE));
    const canvas = create('canvas', '');
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-label', `${name} as a matrix.`);
    const { width } = this.painted;
    const cell = Math.min(MOST_CELL_PX, Math.max(LEAST_CELL_PX, USUAL_PX / Math.max(width, this.painted.height)));
    canvas.style.width = `min(100%, ${Math.min(MOST_PX, Math.round(width * cell))}px)`;
    this.canvas = new CellCanvas(canvas, {
      press: (x, y) => {
        const fact = this.factAt(x, y);
        if (fact !== null) onFact(fact);
      },
      marked: false,
      describe: (x, y) => this.describe(x, y),
    });
    canvas.addEventListener('pointermove', (event) => {
      const box = canvas.getBoundingClientRect();
      const place = (from: number, size: number, all: number): number => Math.min(all - 1, Math.max(0, Math.floor((from / size) * all)));
      canvas.title = this.describe(place(event.clientX - box.left, box.width, this.painted.width), place(event.clientY - box.top, box.height, this.painted.height));
    });
    const caption = create('figcaption', '', create('code', '', name), ' ', this.about);
    const body = create('div', 'matrix', ...this.labels('columns'), ...this.labels('rows'), canvas);
    this.element = create('figure', relation.derived ? 'derived' : '', caption, body);
    this.element.dataset.relation = name;
    this.show(0);
  }

  dispose(): void {
    this.canvas.dispose();
  }

  private get painted(): { width: number; height: number } {
    return { width: Math.ceil(this.columns / this.block), height: Math.ceil(this.rows / this.block) };
  }

  private labels(side: 'rows' | 'columns'): HTMLElement[] {
    const { axes } = this.relation;
    const axis = side === 'rows' ? axes[0] : axes.at(-1);
    if (axis === undefined || axes.length > 2 || axis.size > MOST_NAMES || (side === 'rows' && axes.length < 2)) return [];
    const names = Array.from({ length: axis.size }, (_, i) => String(memberOf(axis, i)));
    const isLong = names.some((name) => name.length > 2);
    return [create('ol', isLong ? `${side} long` : side, ...names.map((name) => create('li', '', name)))];
  }

  private placeOf(x: number, y: number): number | null {
    return this.block > 1 ? null : y * this.columns + x;
  }

  private factAt(x: number, y: number): string | null {
    const place = this.placeOf(x, y);
    if (place === null || this.relation.numbers) return null;
    return factText(this.relation.name, this.membersAt(place));
  }

  private membersAt(place: number): Cell[] {
    let rest = place;
    return [...this.relation.axes]
      .reverse()
      .map((axis) => {
        const at = rest % axis.size;
        rest = Math.floor(rest / axis.size);
        return memberOf(axis, at);
      })
      .reverse();
  }

  private describe(x: number, y: number): string {
    const place = this.placeOf(x, y);
    const { relation } = this;
    if (place === null) return `${count(this.block)} × ${count(this.block)} entries`;
    const fact = relation.numbers ? `${relation.name}[${this.membersAt(place).join(', ')}]` : factText(relation.name, this.membersAt(place));
    if (relation.rounds === null) return `${fact}: ${significant(this.valueAt(place))}`;
    const round = relation.rounds[place];
    return `${fact}: ${round < 0 ? 'does not hold' : round === 0 ? 'given' : `derived in round ${round}`}`;
  }

  private valueAt(place: number): number {
    const { values, derived } = this.relation;
    if (values === null || values.length === 0) return 0;
    if (this.iteration === 0 && derived) return 0;
    return values[Math.min(values.length, Math.max(1, this.iteration)) - 1][place];
  }

  /** Shows what is known after a round; 0: the given facts. */
  show(iteration: number): void {
    this.iteration = iteration;
    const { rounds, values, numbers } = this.relation;
    const { width, height } = this.painted;
    const lit = new Float32Array(width * height);
    const fresh = new Uint8Array(width * height);
    const size = this.rows * this.columns;
    const most = numbers ? Math.max(1e-9, ...(values?.at(-1) ?? []).map(Math.abs)) : 1;
    let known = 0;
    for (let place = 0; place < (rounds === null && values === null ? 0 : size); place++) {
      const isKnown = rounds !== null && rounds[place] >= 0 && rounds[place] <= iteration;
      const value = rounds === null ? Math.abs(this.valueAt(place)) / most : Number(isKnown);
      if (value === 0) continue;
      if (value > 0.5) known++;
      const at = Math.floor(Math.floor(place / this.columns) / this.block) * width + Math.floor((place % this.columns) / this.block);
      lit[at] = Math.max(lit[at], 255 * value);
      if (isKnown && rounds[place] === iteration && iteration > 0) fresh[at] = 1;
    }
    this.canvas.show({ width, height, values: lit, fresh });
    const isShown = rounds !== null || values !== null;
    setText(this.about, numbers ? `${plural(size, 'number')}` : isShown ? plural(known, 'fact') : `${plural(this.relation.count, 'fact')}, too many entries to show`);
  }
}

export class Matrices {
  private matrices: Matrix[] = [];

  constructor(
    private readonly box: HTMLElement,
    private readonly onFact: (fact: string) => void,
  ) {}

  open(relations: readonly Relation[]): void {
    for (const matrix of this.matrices) matrix.dispose();
    // Derived relations come first.
    const order = [...relations].sort((a, b) => Number(b.derived) - Number(a.derived));
    this.matrices = order.map((relation) => new Matrix(relation, this.onFact));
    this.box.replaceChildren(...this.matrices.map(({ element }) => element));
  }

  show(iteration: number): void {
    for (const matrix of this.matrices) matrix.show(iteration);
  }
}
