// The list of the program's kernels. For the chosen one it shows the loops, the WebAssembly or shaders, and why its neighbours
// are separate kernels.

import { create, element, setText } from '../../views/dom.ts';
import { bytes, NONE, scaled, significant } from '../../views/format.ts';
import { kernelHue } from '../graph/painter.ts';
import { GROUPS, isForDevice, type Kernel, type Report } from '../report.ts';
import type { Lit, Selection } from '../selection.ts';
import { Choice } from '../../views/choice.ts';
import type { CodeView } from './code-view.ts';

const NO_CODE = 'This kernel needs no strip program.';

/** Says that a kernel computes values again for a derivative; '' for nearly all kernels. */
const sayAgain = ({ flops, flopsAgain }: Kernel): string =>
  flopsAgain === 0 ? '' : `${flopsAgain === flops ? '' : `${scaled(flopsAgain, 'FLOP')} `}made again for a derivative`;

export class KernelsView {
  private report: Report | null = null;
  private chosen = 0;
  private readonly rows = element('kernel-rows');
  private readonly cuts = element('kernel-cut-list');
  private readonly part = new Choice('kernel-loops', () => void this.showPart());

  /** listing: asks for the WebAssembly or the shaders of a kernel of the last report. */
  constructor(
    private readonly code: CodeView,
    private readonly listing: (kernel: number, language: 'wat' | 'wgsl') => Promise<string>,
    private readonly selection: Selection,
  ) {
    selection.listen((lit) => this.light(lit));
    this.rows.addEventListener('keydown', (event) => this.key(event));
  }

  show(report: Report): void {
    this.report = report;
    const onDevice = isForDevice(report);
    element('kernel-wgsl').hidden = !onDevice;
    if (!onDevice && this.part.value === 'kernel-wgsl') this.part.value = 'kernel-loops';
    this.chosen = Math.min(this.chosen, Math.max(0, report.kernels.length - 1));
    this.rows.replaceChildren(...report.kernels.map((kernel, i) => this.row(kernel, i)));
    this.choose(this.chosen);
  }

  private row(kernel: Kernel, i: number): HTMLElement {
    const cell = (className: string, text: string): HTMLElement => create('td', className, text);
    const swatch = create('i', 'swatch');
    swatch.style.setProperty('--hue', String(kernelHue(kernel.id)));
    const choose = create('button', 'link', kernel.name);
    choose.type = 'button';
    choose.title = kernel.name;
    const name = create('th', 'name', choose);
    name.scope = 'row';
    const perByte = kernel.bytes > 0 ? significant(kernel.flops / kernel.bytes, 2) : NONE;
    const row = create(
      'tr',
      '',
      create('td', 'id', swatch, `k${kernel.id}`),
      name,
      cell('kind', kernel.kind),
      cell('engine', kernel.engine),
      cell('number', scaled(kernel.flops)),
      cell('number', bytes(kernel.bytes)),
      cell('number', perByte),
    );
    row.addEventListener('click', () => this.select(i));
    return row;
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || this.report?.kernels[this.chosen + by] === undefined) return;
    event.preventDefault();
    this.select(this.chosen + by);
    this.rows.children[this.chosen].querySelector('button')?.focus();
  }

  private select(i: number): void {
    this.choose(i);
    const kernel = this.report?.kernels[i];
    if (kernel !== undefined) this.selection.choose({ what: 'kernel', kernel: kernel.id });
  }

  /** Marks the kernels of the selection, and shows the first if the selection was made elsewhere. */
  private light(lit: Lit | null): void {
    const kernels = this.report?.kernels ?? [];
    kernels.forEach(({ id }, i) => this.rows.children[i]?.classList.toggle('lit', lit?.kernels.has(id) ?? false));
    const first = kernels.findIndex(({ id }) => lit?.kernels.has(id));
    if (first < 0 || lit?.kernels.has(kernels[this.chosen]?.id)) return;
    this.choose(first);
    this.rows.children[first].scrollIntoView({ block: 'nearest' });
  }

  private choose(i: number): void {
    this.chosen = i;
    [...this.rows.children].forEach((row, at) => row.setAttribute('aria-current', String(at === i)));
    void this.showPart();
  }

  private async showPart(): Promise<void> {
    const { report, chosen } = this;
    const kernel = report?.kernels[chosen];
    setText(element('kernel-title'), kernel === undefined ? '' : [`k${kernel.id}`, kernel.kind, kernel.engine, kernel.name, sayAgain(kernel)].filter(Boolean).join(' · '));
    const part = this.part.value;
    element('kernel-code').hidden = part === 'kernel-cuts';
    this.cuts.hidden = part !== 'kernel-cuts';
    if (report === null || kernel === undefined) return this.code.show('', 'plain');
    if (part === 'kernel-cuts') return this.showCuts(report, kernel);
    if (part === 'kernel-strips') return this.code.show(kernel.code || NO_CODE, 'plain');
    if (part === 'kernel-loops') return this.code.show(kernel.text, 'plain');
    const language = part === 'kernel-wgsl' ? 'wgsl' : 'wat';
    const text = await this.listing(kernel.id, language).catch((error: unknown) => String(error));
    if (this.report === report && this.chosen === chosen && this.part.value === part)
      this.code.show(text, language);
  }

  private showCuts({ stages }: Report, { cuts }: Kernel): void {
    const nodes = stages.find(({ name }) => name === GROUPS)?.nodes ?? [];
    const known = new Map(nodes.map((node) => [node.id, node]));
    const name = (id: number): string => {
      const node = known.get(id);
      const kernel = node?.group == null ? '' : ` (k${node.group})`;
      return `%${id} ${node?.op ?? ''}${kernel}`;
    };
    const items = cuts.map(({ from, to, reason }) =>
      create('li', '', create('strong', '', `${name(from)} → ${name(to)}`), ` ${reason}`),
    );
    const none = create('li', 'muted', 'Nothing was cut off here: what it reads are arguments of the program.');
    this.cuts.replaceChildren(...(items.length > 0 ? items : [none]));
  }
}
