// Examples to train on: classes of pictures from files, drops or the camera, or lines of numbers with their class. Without any,
// the page's own digits are used, if the model takes them.

import { create, element, setText } from '../views/dom.ts';
import { plural } from '../views/format.ts';
import { Camera } from './camera.ts';
import { PictureFields } from './inputs.ts';
import { labelledRows } from './numbers.ts';
import { drawFitted, numbersOf, pictureAxes, pictureOf, type PictureAxes } from './picture.ts';
import type { Examples, Port } from './protocol.ts';

const FREE_SIDE = 224;
/** The most examples over all classes. */
const MOST_EXAMPLES = 5000;
const [LEAST_CLASSES, MOST_CLASSES] = [2, 20];
/** Milliseconds between pictures of the camera. */
const SHOT_MS = 200;

/** The shape of one example: that of the input without the batch axis. */
export function exampleShape({ shape }: Port): number[] {
  const axes = shape ?? [];
  const isBatch = typeof axes[0] === 'string' || (axes[0] === 1 && axes.length > 1);
  return axes.slice(isBatch ? 1 : 0).map((size) => (typeof size === 'number' ? size : FREE_SIDE));
}

interface PictureClass {
  name: HTMLInputElement;
  count: HTMLElement;
  pictures: ImageBitmap[];
  row: HTMLElement;
}

const button = (text: string): HTMLButtonElement => {
  const made = create('button', 'quiet', text);
  made.type = 'button';
  return made;
};

export class ExampleSet {
  private port: Port | null = null;
  private axes: PictureAxes | null = null;
  private classes: PictureClass[] = [];
  private readonly camera = new Camera();
  private fields: PictureFields | null = null;
  private text: HTMLTextAreaElement | null = null;
  /** The page's own examples, which those of the user replace. */
  private own: Examples | null = null;
  private ownName = '';
  private readonly root = element('finetune-examples');

  /** say: shows a message or a problem; digits: the page's own examples for an input. */
  constructor(
    private readonly say: (text: string, isProblem?: boolean) => void,
    private readonly digits: (input: string, shape: number[], upsideDown: boolean) => Promise<Examples>,
  ) {}

  show(port: Port): void {
    this.rest();
    this.port = port;
    this.axes = pictureAxes(port);
    this.classes = [];
    this.own = null;
    const shape = exampleShape(port);
    this.text = null;
    const parts: HTMLElement[] = [];
    if (this.axes === null) parts.push(this.numbersField(shape));
    else {
      this.fields = new PictureFields(Number(port.shape?.[this.axes.channels]), () => {});
      const list = create('div', 'classes');
      const add = button('Another class');
      add.addEventListener('click', () => this.addClass(list));
      parts.push(list, add, this.camera.video, this.fields.element);
      this.addClass(list);
      this.addClass(list);
    }
    if (shape.join() === '1,28,28' || shape.join() === '28,28,1' || shape.join() === '784') parts.push(this.ownField());
    this.root.replaceChildren(...parts);
  }

  rest(): void {
    this.camera.stop();
  }

  private numbersField(shape: readonly number[]): HTMLElement {
    const numbers = shape.reduce((product, size) => product * size, 1);
    const field = create('textarea', 'numbers');
    field.rows = 5;
    field.spellcheck = false;
    field.placeholder = `${plural(numbers, 'number')} and, last, the class, with commas between them; an example a line`;
    field.dataset.testid = 'finetune-csv';
    field.setAttribute('aria-label', 'Examples: lines of numbers with the class at the end');
    field.addEventListener('drop', (event) => {
      const dropped = event.dataTransfer?.files[0];
      if (dropped === undefined) return;
      event.preventDefault();
      void dropped.text().then((text) => (field.value = text));
    });
    this.text = field;
    return field;
  }

  private ownField(): HTMLElement {
    const row = create('div', 'example-row', create('p', '', 'Or digits that the page has:'));
    for (const [text, id, upsideDown] of [['as they are', 'finetune-digits', false], ['upside down', 'finetune-turned', true]] as const) {
      const take = button(text);
      take.dataset.testid = id;
      take.addEventListener('click', () => void this.takeOwn(text, upsideDown));
      row.append(take);
    }
    return row;
  }

  private async takeOwn(name: string, upsideDown: boolean): Promise<void> {
    try {
      this.say('Loading digits…');
      if (this.port === null) return;
      this.own = await this.digits(this.port.name, exampleShape(this.port), upsideDown);
      this.ownName = name;
      this.say(`${plural(this.own.labels.length, 'digit')}, ${name}.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
    }
  }

  private addClass(list: HTMLElement): void {
    if (this.classes.length >= MOST_CLASSES) return;
    const number = this.classes.length;
    const name = create('input', '');
    name.value = `class ${number}`;
    name.setAttribute('aria-label', `Name of class ${number}`);
    const count = create('p', '', 'no pictures');
    const file = create('input', '');
    file.type = 'file';
    file.multiple = true;
    file.accept = 'image/*';
    file.hidden = true;
    file.dataset.testid = `finetune-pictures-${number}`;
    file.setAttribute('aria-label', `Pictures of class ${number}`);
    const [choose, shoot] = [button('Pictures'), button('Camera')];
    const row = create('div', 'example-row', name, choose, shoot, count, file);
    const own: PictureClass = { name, count, pictures: [], row };
    choose.addEventListener('click', () => file.click());
    file.addEventListener('change', () => {
      void this.take(own, [...(file.files ?? [])]);
      file.value = '';
    });
    row.addEventListener('drop', (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      void this.take(own, files);
    });
    shoot.addEventListener('click', () => void this.shoot(own, shoot));
    this.classes.push(own);
    list.append(row);
  }

  private async take(own: PictureClass, files: readonly File[]): Promise<void> {
    const refused: string[] = [];
    for (const file of files) {
      try {
        own.pictures.push(await pictureOf(file));
      } catch {
        refused.push(file.name);
      }
    }
    this.counted(own);
    this.say(refused.length === 0 ? '' : `No pictures that this browser can read: ${refused.slice(0, 5).join(', ')}.`, refused.length > 0);
  }

  /** Takes a picture after another while the camera is on. */
  private async shoot(own: PictureClass, press: HTMLButtonElement): Promise<void> {
    if (this.camera.isOn) return this.camera.stop();
    try {
      if (!(await this.camera.start())) return;
      setText(press, 'Stop');
      while (this.camera.isOn) {
        own.pictures.push(await createImageBitmap(this.camera.video));
        this.counted(own);
        await new Promise((wake) => setTimeout(wake, SHOT_MS));
      }
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error), true);
    } finally {
      setText(press, 'Camera');
    }
  }

  private counted(own: PictureClass): void {
    this.own = null;
    setText(own.count, plural(own.pictures.length, 'picture'));
  }

  /** The examples with the names of their classes; throws an error with a message if something is wrong. */
  get examples(): { examples: Examples; names: string[] } {
    const { port, axes } = this;
    if (port === null) throw new Error('No model is open.');
    if (this.own !== null) return { examples: this.own, names: Array.from({ length: this.own.classes }, (_, i) => `${i} ${this.ownName}`) };
    return axes === null ? this.ofNumbers(port) : this.ofPictures(port, axes);
  }

  private ofNumbers(port: Port): { examples: Examples; names: string[] } {
    const { width, values, labels, classes } = labelledRows(this.text?.value ?? '');
    const shape = exampleShape(port);
    const total = shape.reduce((product, size) => product * size, 1);
    if (width !== total) throw new Error(`A line has ${plural(width, 'number')} and a class, and the model takes ${shape.join(' × ') || 'one number'}.`);
    return { examples: { input: port.name, shape, values, labels, classes: classes.length }, names: classes };
  }

  private ofPictures(port: Port, axes: PictureAxes): { examples: Examples; names: string[] } {
    const filled = this.classes.filter(({ pictures }) => pictures.length > 0);
    const all = filled.flatMap(({ pictures }, label) => pictures.map((picture) => ({ picture, label })));
    if (filled.length < LEAST_CLASSES) throw new Error('There are no pictures of two classes yet.');
    if (all.length > MOST_EXAMPLES) throw new Error(`${all.length} pictures are more than the ${MOST_EXAMPLES} that the page takes.`);
    const shape = exampleShape(port);
    const offset = (port.shape?.length ?? shape.length) - shape.length;
    const settings = this.fields?.value ?? { scale: 'unit', fit: 'cover', order: 'rgb', inverted: false };
    const [height, width] = [shape[axes.height - offset], shape[axes.width - offset]];
    const canvas = document.createElement('canvas');
    const each = shape.reduce((product, size) => product * size, 1);
    const values = new Float32Array(all.length * each);
    const own = { channels: axes.channels - offset, height: axes.height - offset, width: axes.width - offset };
    all.forEach(({ picture }, i) => {
      drawFitted(canvas, picture, [picture.width, picture.height], settings.fit, width, height);
      values.set(numbersOf(canvas, shape, own, settings), i * each);
    });
    const labels = Uint32Array.from(all, ({ label }) => label);
    return { examples: { input: port.name, shape, values, labels, classes: filled.length }, names: filled.map(({ name }) => name.value) };
  }
}
