// Saves any view of the tab as a picture: PNG, or SVG with its texts as texts. The code that draws it is loaded with the first
// picture.

import { css } from './chart.ts';
import { create, element, setText } from './dom.ts';

const VIEWS = '.page:not([hidden]) :is(.card:not(.tile), .inside-view)';
/** The pixels of a PNG per pixel of the page, in each direction. */
const RATIO = 2;

const titleOf = (view: Element): string => view.querySelector('h2, h3')?.textContent?.trim() ?? '';
const nameOf = (title: string): string => title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'view';

export class Pictures {
  private readonly box = element<HTMLDetailsElement>('pictures');
  private readonly choice = element<HTMLSelectElement>('picture-view');
  private readonly note = element('picture-note');
  private views: HTMLElement[] = [];

  constructor() {
    this.box.addEventListener('toggle', () => this.box.open && this.list());
    this.box.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.box.open = false;
    });
    document.addEventListener('pointerdown', ({ target }) => {
      if (target instanceof Node && !this.box.contains(target)) this.box.open = false;
    });
    for (const form of ['png', 'svg'] as const) element(`picture-${form}`).addEventListener('click', () => void this.save(form));
  }

  private list(): void {
    const all = [...document.querySelectorAll<HTMLElement>(VIEWS)];
    this.views = all.filter((view) => view.offsetParent !== null && titleOf(view) !== '');
    this.choice.replaceChildren(...this.views.map((view) => create('option', '', titleOf(view))));
    setText(this.note, '');
  }

  private async save(form: 'png' | 'svg'): Promise<void> {
    const view = this.views[this.choice.selectedIndex];
    if (view === undefined) return;
    setText(this.note, 'Drawing…');
    try {
      const { toPng, toSvg } = await import('html-to-image');
      const options = { backgroundColor: css('--card'), pixelRatio: RATIO, skipFonts: true };
      const link = document.createElement('a');
      view.classList.add('pictured');
      link.href = await (form === 'png' ? toPng(view, options) : toSvg(view, options)).finally(() => view.classList.remove('pictured'));
      link.download = `sinter-${nameOf(titleOf(view))}.${form}`;
      link.click();
      setText(this.note, `Saved ${link.download}.`);
    } catch (error) {
      setText(this.note, `No picture: ${error instanceof Error ? error.message : 'this browser does not draw it'}.`);
    }
  }
}
