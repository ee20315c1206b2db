// The circuit of an automaton: drawn as gates, with the values on its wires for one cell of a run, with counts, and to be
// saved.

import { download } from '../../views/download.ts';
import { create, element, setText, setValue } from '../../views/dom.ts';
import { count, plural } from '../../views/format.ts';
import { CellCanvas } from '../cell-canvas.ts';
import type { CircuitFacts, Form, Taken } from '../automaton/protocol.ts';
import { Drawer, type Drawing } from './drawing.ts';
import { signalsAt } from './live.ts';

/** Circuits with more gates are drawn by the package, without values. */
const MOST_LIVE = 400;
const MOST_DRAWN = 4000;

/** The smallest initial scale of a drawing: it fits its box if its gates are still legible then. */
const LEAST_SCALE = 0.4;

const FORMS: Record<Form, { file: string; type: string }> = {
  c: { file: 'circuit.c', type: 'text/x-c' },
  verilog: { file: 'circuit.v', type: 'text/x-verilog' },
  svg: { file: 'circuit.svg', type: 'image/svg+xml' },
  json: { file: 'circuit.json', type: 'application/json' },
};

function historyOf({ trained, simplified, accuracy }: Taken, gates: number): string {
  const pruned = accuracy === 1 ? ` → ${count(gates)} that the task needs` : ', not pruned: it does not do its task yet';
  return `${count(trained)} gates trained → ${count(simplified)} after simplification${pruned}`;
}

export class CircuitCard {
  private readonly drawer = new Drawer();
  private readonly scrubber = element<HTMLInputElement>('circuit-frame');
  private readonly zoom = element<HTMLInputElement>('circuit-zoom');
  private readonly cells: CellCanvas;
  private facts: CircuitFacts | null = null;
  private drawing: Drawing | null = null;

  constructor(
    private readonly write: (form: Form) => Promise<string>,
    open: (file: File) => void,
    private readonly fail: (error: unknown) => void,
  ) {
    this.cells = new CellCanvas(element('circuit-cells'), {
      press: () => this.light(),
      marked: true,
      describe: (x, y) => `Column ${x + 1}, row ${y + 1}.`,
    });
    this.scrubber.addEventListener('input', () => this.light());
    this.zoom.addEventListener('input', () => this.scale());
    for (const form of Object.keys(FORMS) as Form[]) element(`circuit-save-${form}`).addEventListener('click', () => void this.save(form));
    const picker = element<HTMLInputElement>('circuit-file');
    element('circuit-open').addEventListener('click', () => picker.click());
    picker.addEventListener('change', () => {
      const [file] = picker.files ?? [];
      if (file !== undefined) open(file);
      picker.value = ''; // so that the same file can be chosen again
    });
  }

  clear(): void {
    this.facts = this.drawing = null;
    this.drawer.cancel();
    element('circuit-body').hidden = true;
    element('circuit-zoom-label').hidden = true;
    element('circuit-empty').hidden = false;
    setValue(element('circuit-gates'), '–', null);
    setText(element('circuit-gates-of'), 'not taken yet');
  }

  async show(facts: CircuitFacts): Promise<void> {
    this.clear();
    this.facts = facts;
    const { gates, taken, depth, cells } = facts;
    setValue(element('circuit-gates'), count(gates.length), gates.length);
    setText(element('circuit-gates-of'), taken === null ? 'of a file' : `of ${count(taken.trained)} trained`);
    element('circuit-empty').hidden = true;
    element('circuit-body').hidden = false;
    setText(element('circuit-count'), `${taken === null ? plural(gates.length, 'gate') : historyOf(taken, gates.length)}. ${plural(depth, 'level')}.`);
    this.showCounts(facts);
    this.scrubber.max = String(cells.frames - 1);
    this.scrubber.value = String(Math.min(3, cells.frames - 1));
    this.showFrame();
    this.cells.place(cells.width >> 1, cells.height >> 1);
    await this.draw(facts);
    this.light();
  }

  private showCounts({ counts }: CircuitFacts): void {
    const rows = Object.entries(counts).sort(([, a], [, b]) => b - a);
    element('circuit-functions').replaceChildren(
      ...rows.map(([name, number]) => create('li', '', create('code', '', name), ` ${count(number)}`)),
    );
  }

  private async draw(facts: CircuitFacts): Promise<void> {
    const box = element('circuit-drawing');
    const say = (text: string): void => box.replaceChildren(create('p', 'empty', text));
    const { length } = facts.gates;
    if (length > MOST_DRAWN) return say(`${plural(length, 'gate')} are more than anyone can follow. Save them, or prune the circuit by training until it is solved.`);
    say('Placing gates…');
    try {
      if (length <= MOST_LIVE) {
        const drawing = await this.drawer.draw(facts);
        if (this.facts !== facts) return;
        this.drawing = drawing;
        drawing.svg.setAttribute('aria-label', `The circuit: ${plural(length, 'gate')} in ${plural(facts.depth, 'level')}, inputs on the left.`);
        const fit = Math.min((box.clientWidth - 4) / drawing.width, (box.clientHeight - 4) / drawing.height);
        this.zoom.value = String(Math.round(100 * Math.min(1, Math.max(LEAST_SCALE, fit))));
        this.scale();
        box.replaceChildren(drawing.svg);
        element('circuit-zoom-label').hidden = false;
        box.scrollTop = (box.scrollHeight - box.clientHeight) / 2;
      } else {
        const svg = await this.write('svg');
        if (this.facts !== facts) return;
        const image = create('img', '');
        image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
        image.alt = `The circuit: ${plural(length, 'gate')}, too many to show their values.`;
        box.replaceChildren(image);
      }
    } catch (error) {
      if (this.facts !== facts) return;
      say('The circuit could not be drawn; it can be saved.');
      this.fail(error);
    }
  }

  private scale(): void {
    if (this.drawing === null) return;
    const { svg, width, height } = this.drawing;
    const scale = Number(this.zoom.value) / 100;
    svg.setAttribute('width', String(Math.round(scale * width)));
    svg.setAttribute('height', String(Math.round(scale * height)));
    this.zoom.setAttribute('aria-valuetext', `${this.zoom.value} %`);
  }

  private get frame(): number {
    return Number(this.scrubber.value);
  }

  private showFrame(): void {
    if (this.facts === null) return;
    const { width, height, bits } = this.facts.cells;
    const size = width * height;
    const first = this.frame * this.facts.channels * size;
    this.cells.show({ width, height, values: bits.subarray(first, first + size).map((bit) => 255 * bit) });
  }

  private light(): void {
    if (this.facts === null) return;
    this.showFrame();
    const { x, y } = this.cells.cursor;
    const signals = signalsAt(this.facts, this.frame, x, y);
    this.drawing?.light(signals);
    const { outputs, fire } = this.facts;
    const text = `Step ${this.frame}, column ${x + 1}, row ${y + 1}: the cell is ${signals[4]} and becomes ${signals[outputs[0]]}${fire < 1 ? ' if it is among those that change' : ''}.`;
    setText(element('circuit-cell'), text);
    this.scrubber.setAttribute('aria-valuetext', `step ${this.frame}`);
  }

  private async save(form: Form): Promise<void> {
    const { file, type } = FORMS[form];
    try {
      download(file, type, await this.write(form));
    } catch (error) {
      this.fail(error);
    }
  }
}
