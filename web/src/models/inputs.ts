// What a visitor gives to the inputs of a model: a picture, numbers, or random numbers. Each input has a field of its own,
// which also says what is wrong with it.

import { create, setText } from '../views/dom.ts';
import { count } from '../views/format.ts';
import { generator } from '../trainer/random.ts';
import { Camera } from './camera.ts';
import { numbersIn } from './numbers.ts';
import { FITS, SCALES, drawFitted, numbersOf, pictureAxes, pictureOf, type Fit, type PictureAxes, type PictureSettings, type Scale } from './picture.ts';
import type { Given, Port } from './protocol.ts';

/** The first values of free sizes: of batches, of the sides of pictures, and of all others. */
const [FREE_BATCH, FREE_SIDE, FREE_OTHER] = [1, 224, 16];
/** The most numbers that the page gives to one input. */
const MOST_NUMBERS = 1 << 26;
/** Random numbers for integer inputs are below this. */
const MOST_WHOLE = 100;

type Way = 'picture' | 'numbers' | 'chance';
const WAYS: Record<Way, string> = { picture: 'a picture', numbers: 'numbers', chance: 'numbers by chance' };

const labelled = (text: string, control: HTMLElement): HTMLLabelElement => create('label', '', create('span', '', text), control);

function select<T extends string>(choices: Readonly<Record<T, string>>, chosen: T, onChange: () => void): HTMLSelectElement {
  const made = create('select', '');
  for (const [value, text] of Object.entries(choices)) {
    const option = create('option', '', text as string);
    option.value = value;
    option.selected = value === chosen;
    made.append(option);
  }
  made.addEventListener('change', onChange);
  return made;
}

function button(text: string, onClick: () => void): HTMLButtonElement {
  const made = create('button', 'quiet', text);
  made.type = 'button';
  made.addEventListener('click', onClick);
  return made;
}

/** The fields for the settings of pictures. */
export class PictureFields {
  readonly element = create('div', 'fields picture-fields');
  private readonly scale: HTMLSelectElement;
  private readonly fit: HTMLSelectElement;
  private readonly order: HTMLSelectElement;
  private readonly inverted: HTMLSelectElement;

  constructor(channels: number, changed: () => void) {
    const scales = Object.fromEntries(Object.entries(SCALES).map(([key, { name }]) => [key, name])) as Record<Scale, string>;
    this.scale = select(scales, channels === 3 ? 'imagenet' : 'unit', changed);
    this.fit = select(FITS, 'cover', changed);
    this.order = select<'rgb' | 'bgr'>({ rgb: 'red, green, blue', bgr: 'blue, green, red' }, 'rgb', changed);
    this.inverted = select<'no' | 'yes'>({ no: 'as it is', yes: 'inverted' }, 'no', changed);
    this.element.append(labelled('Numbers', this.scale), labelled('Size', this.fit), ...(channels === 3 ? [labelled('Colours', this.order)] : []), labelled('Light', this.inverted));
  }

  get value(): PictureSettings {
    return { scale: this.scale.value as Scale, fit: this.fit.value as Fit, order: this.order.value as 'rgb' | 'bgr', inverted: this.inverted.value === 'yes' };
  }
}

/** A picture from a file, a drop or the camera, shown as the model sees it. */
class PictureInput {
  readonly element = create('div', 'picture-input');
  private readonly canvas = create('canvas', 'seen');
  private readonly camera = new Camera();
  private readonly shootButton = button('Camera', () => void this.shoot());
  private readonly fields: PictureFields;
  private source: ImageBitmap | null = null;

  constructor(
    name: string,
    channels: number,
    private readonly size: () => [width: number, height: number],
    private readonly say: (text: string, isProblem?: boolean) => void,
  ) {
    this.fields = new PictureFields(channels, () => this.draw());
    const file = create('input', '');
    file.type = 'file';
    file.accept = 'image/*';
    file.hidden = true;
    file.dataset.testid = 'models-picture';
    file.setAttribute('aria-label', `Picture for ${name}`);
    file.addEventListener('change', () => {
      if (file.files?.[0]) void this.take(file.files[0]);
      file.value = '';
    });
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `What the model sees of the picture for ${name}`);
    const drop = create('div', 'picture-drop', this.canvas, this.camera.video, create('div', '', create('p', '', 'Drop a picture here.'), button('Choose', () => file.click()), this.shootButton, file));
    drop.addEventListener('drop', (event) => {
      const dropped = event.dataTransfer?.files[0];
      if (dropped === undefined) return;
      event.preventDefault();
      void this.take(dropped);
    });
    this.element.append(drop, this.fields.element);
  }

  /** The numbers of the canvas, in the order of the axes. */
  numbers(shape: readonly number[], axes: PictureAxes): Float32Array {
    if (this.source === null) throw new Error('There is no picture yet.');
    this.draw();
    return numbersOf(this.canvas, shape, axes, this.fields.value);
  }

  rest(): void {
    this.camera.stop();
    setText(this.shootButton, 'Camera');
  }

  private async take(file: File): Promise<void> {
    try {
      this.show(await pictureOf(file));
      this.say(`${file.name}, ${this.source?.width} × ${this.source?.height}.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  private async shoot(): Promise<void> {
    try {
      if (!this.camera.isOn) {
        if (await this.camera.start()) setText(this.shootButton, 'Take it');
        return;
      }
      this.show(await createImageBitmap(this.camera.video));
      this.rest();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  private show(picture: ImageBitmap): void {
    this.source?.close();
    this.source = picture;
    this.draw();
  }

  private draw(): void {
    if (this.source === null) return;
    const [width, height] = this.size();
    drawFitted(this.canvas, this.source, [this.source.width, this.source.height], this.fields.value.fit, width, height);
  }
}

/** The field of one input. */
class InputField {
  readonly element = create('fieldset', 'model-input');
  private readonly sizes = new Map<number, HTMLInputElement>();
  private readonly way: HTMLSelectElement;
  private readonly picture: PictureInput | null = null;
  private readonly numbers = create('textarea', 'numbers');
  private readonly note = create('p', 'models-note');
  private readonly axes: PictureAxes | null;
  private seed = 1;

  constructor(private readonly port: Port) {
    this.axes = pictureAxes(port);
    const type = port.dtype === 'float' || port.dtype === '' ? '' : ` ${port.dtype}`;
    const legend = create('legend', '', create('b', '', port.name), ` ${port.shape === null ? 'any shape' : port.shape.map((size) => size || '?').join(' × ') || 'one number'}${type}`);
    const ways: Partial<Record<Way, string>> = this.axes === null ? { chance: WAYS.chance, numbers: WAYS.numbers } : WAYS;
    this.way = select(ways as Record<Way, string>, 'chance', () => this.showWay());
    this.way.dataset.testid = 'models-way';
    const row = create('div', 'fields', labelled('Give it', this.way));
    port.shape?.forEach((size, axis) => {
      if (typeof size === 'number') return;
      const field = create('input', '');
      field.inputMode = 'numeric';
      const isSide = this.axes !== null && (axis === this.axes.height || axis === this.axes.width);
      field.value = String(axis === 0 ? FREE_BATCH : isSide ? FREE_SIDE : FREE_OTHER);
      this.sizes.set(axis, field);
      row.append(labelled(`Size: ${size || `axis ${axis}`}`, field));
    });
    this.note.setAttribute('role', 'status');
    this.numbers.rows = 3;
    this.numbers.spellcheck = false;
    this.numbers.placeholder = '0.1, 0.2, … or [[0.1, 0.2], …]';
    this.numbers.dataset.testid = 'models-numbers';
    this.numbers.setAttribute('aria-label', `Numbers for ${port.name}`);
    this.numbers.addEventListener('drop', (event) => {
      const dropped = event.dataTransfer?.files[0];
      if (dropped === undefined) return;
      event.preventDefault();
      void dropped.text().then((text) => (this.numbers.value = text));
    });
    this.element.append(legend, row);
    if (this.axes !== null) {
      const { axes } = this;
      this.picture = new PictureInput(port.name, Number(port.shape?.[axes.channels]), () => [this.size(axes.width), this.size(axes.height)], (text, isProblem = false) => this.say(text, isProblem));
      this.element.append(this.picture.element);
    }
    this.element.append(this.numbers, this.note);
    this.showWay();
  }

  private showWay(): void {
    const way = this.way.value as Way;
    if (this.picture !== null) this.picture.element.hidden = way !== 'picture';
    this.numbers.hidden = way !== 'numbers';
    if (way !== 'picture') this.picture?.rest();
    this.say('');
  }

  private say(text: string, isProblem = false): void {
    setText(this.note, text);
    this.note.classList.toggle('problem', isProblem);
  }

  private size(axis: number): number {
    const field = this.sizes.get(axis);
    const size = field === undefined ? Number(this.port.shape?.[axis] ?? 1) : Number(field.value);
    if (!Number.isInteger(size) || size < 1 || size > MOST_NUMBERS) throw new Error(`"${field?.value ?? size}" is no size: a whole number above 0 is.`);
    return size;
  }

  /** The numbers of the input. If they are wrong, null, and the field says why. */
  get given(): Given | null {
    try {
      const given = this.read();
      this.say('');
      return given;
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
      return null;
    }
  }

  private read(): Given {
    const { name, dtype } = this.port;
    const way = this.way.value as Way;
    if (dtype === 'string' || dtype === 'sequence' || dtype === 'optional' || dtype === 'other') throw new Error(`Inputs of ${dtype === 'string' ? 'texts' : dtype} cannot be given here.`);
    if (this.port.shape === null) {
      const values = Float32Array.from(way === 'numbers' ? numbersIn(this.numbers.value) : this.chance(FREE_OTHER));
      return { name, shape: [values.length], values };
    }
    const shape = this.port.shape.map((_, axis) => this.size(axis));
    const total = shape.reduce((product, size) => product * size, 1);
    if (total > MOST_NUMBERS) throw new Error(`${count(total)} numbers are more than the page gives: make a size smaller.`);
    if (way === 'picture' && this.picture !== null && this.axes !== null) {
      const one = this.picture.numbers(shape, this.axes);
      const values = new Float32Array(total);
      for (let at = 0; at < total; at += one.length) values.set(one, at);
      return { name, shape, values };
    }
    if (way === 'chance') return { name, shape, values: this.chance(total) };
    const values = numbersIn(this.numbers.value);
    if (values.length !== total) throw new Error(`There are ${count(values.length)} numbers, and ${shape.join(' × ') || 'one number'} is ${count(total)}.`);
    return { name, shape, values: Float32Array.from(values) };
  }

  private chance(total: number): Float32Array {
    const next = generator(this.seed++);
    const isWhole = !['float', 'double', 'float16', 'bfloat16', ''].includes(this.port.dtype);
    const share = (): number => next() / 2 ** 32;
    return Float32Array.from({ length: total }, () => (this.port.dtype === 'bool' ? Math.round(share()) : isWhole ? Math.floor(MOST_WHOLE * share()) : share()));
  }

  rest(): void {
    this.picture?.rest();
  }
}

export class Inputs {
  private fields: InputField[] = [];

  constructor(private readonly root: HTMLElement) {}

  show(ports: readonly Port[]): void {
    this.rest();
    this.fields = ports.map((port) => new InputField(port));
    this.root.replaceChildren(...this.fields.map(({ element }) => element));
  }

  /** null if something is missing or wrong; the page then says what. */
  get given(): Given[] | null {
    const all = this.fields.map(({ given }) => given);
    return all.every((each) => each !== null) ? all : null;
  }

  rest(): void {
    for (const field of this.fields) field.rest();
  }
}
