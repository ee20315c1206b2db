// Training states as files: saved as a download, loaded from a picker or dropped on the page, and the state that this browser
// has kept.

import { entry } from '../program/list.ts';
import { download } from './download.ts';
import { element } from './dom.ts';
import { count } from './format.ts';

export interface SaveActions {
  save(): void;
  load(file: Blob): void;
  goOn(): void;
}

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false;

/** The browser would open a file that nothing takes, and leave the page. */
function keepPage(event: DragEvent): void {
  if (event.defaultPrevented || !hasFiles(event)) return;
  event.preventDefault();
  if (event.dataTransfer !== null) event.dataTransfer.dropEffect = 'none';
}

export class SavesView {
  private readonly saveButton = element<HTMLButtonElement>('save');
  private readonly loadButton = element<HTMLButtonElement>('load');
  private readonly goOnButton = element<HTMLButtonElement>('go-on');

  constructor(actions: SaveActions) {
    const picker = element<HTMLInputElement>('load-file');
    const page = element('training');
    this.saveButton.addEventListener('click', () => actions.save());
    this.loadButton.addEventListener('click', () => picker.click());
    this.goOnButton.addEventListener('click', () => actions.goOn());
    picker.addEventListener('change', () => {
      const [file] = picker.files ?? [];
      if (file !== undefined) actions.load(file);
      picker.value = ''; // so that the same file can be chosen again
    });
    const drag = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      const isInside = event.relatedTarget instanceof Node && page.contains(event.relatedTarget);
      page.classList.toggle('dropping', event.type === 'dragover' || (event.type === 'dragleave' && isInside));
      const [file] = event.dataTransfer?.files ?? [];
      if (event.type === 'drop' && file !== undefined && this.ready) actions.load(file);
    };
    for (const type of ['dragover', 'dragleave', 'drop'] as const) page.addEventListener(type, drag);
    for (const type of ['dragover', 'drop'] as const) addEventListener(type, keepPage);
  }

  /** Whether there is a trainer that can save and load. */
  get ready(): boolean {
    return !this.loadButton.disabled;
  }
  set ready(on: boolean) {
    for (const button of [this.saveButton, this.loadButton, this.goOnButton]) button.disabled = !on;
  }

  /** Offers to continue from a kept state. */
  offer(example: string, step: number): void {
    this.goOnButton.hidden = false;
    this.goOnButton.title = `${entry(example)?.title ?? example}, step ${count(step)}`;
  }

  /** Gives the file of a state to the user; returns a message about it. */
  hand(bytes: Uint8Array<ArrayBuffer>, example: string, step: number, kept: true | string): string {
    download(`sinter-${example}-${step}.safetensors`, 'application/octet-stream', bytes);
    if (kept !== true) return `Saved step ${count(step)} as a file. This browser did not keep it: ${kept}`;
    this.offer(example, step);
    return `Saved step ${count(step)}: as a file, and in this browser.`;
  }
}
