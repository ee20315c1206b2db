// The kernels of one training step, slowest first. Times are smoothed over measurements, and rows are updated in place, so that
// the table stays calm.

import type { KernelTiming, ProfileReport } from '../state/protocol.ts';
import { create, element, inside, setText, setValue } from './dom.ts';
import { NONE, plural, significant } from './format.ts';

/** The weight of the newest measurement. */
const FRESH = 0.4;

/** NaN if it is not known. */
const rate = (value: number): string => (Number.isNaN(value) ? NONE : value.toFixed(1));

interface Row {
  element: HTMLTableRowElement;
  name: HTMLElement;
  kind: HTMLElement;
  engine: HTMLElement;
  calls: HTMLElement;
  ms: HTMLElement;
  share: HTMLElement;
  fill: HTMLElement;
  gbps: HTMLElement;
  gflops: HTMLElement;
}

function makeRow(): Row {
  const cell = (className: string): HTMLElement => create('td', className);
  const name = create('th', 'name');
  name.scope = 'row';
  const names = ['kind', 'engine', 'calls', 'ms', 'gbps', 'gflops'];
  const [kind, engine, calls, ms, gbps, gflops] = names.map(cell);
  const fill = create('i', '');
  const share = create('span', '');
  const bar = create('td', 'share', fill, share);
  return {
    element: create('tr', '', name, kind, engine, calls, ms, bar, gbps, gflops),
    ...{ name, kind, engine, calls, ms, share, fill, gbps, gflops },
  };
}

export class OpTable {
  private readonly body = inside(element('op-timings'), 'tbody');
  private readonly empty = element('ops-empty');
  private readonly foot = element('ops-foot');
  private readonly rows: Row[] = [];
  private smooth = new Map<string, KernelTiming>();

  clear(): void {
    this.smooth.clear();
    this.rows.length = 0;
    this.body.replaceChildren();
    this.empty.hidden = false;
    setText(this.foot, '');
  }

  show({ kernels, msPerStep, steps }: ProfileReport): void {
    const sorted = this.blend(kernels).sort((a, b) => b.ms - a.ms);
    const total = sorted.reduce((sum, kernel) => sum + kernel.ms, 0);
    while (this.rows.length > sorted.length) this.rows.pop()?.element.remove();
    const most = sorted[0]?.ms ?? 0;
    sorted.forEach((kernel, i) =>
      this.write(this.row(i), kernel, kernel.ms / total, kernel.ms / most),
    );
    this.empty.hidden = true;
    const between = Math.max(0, msPerStep - kernels.reduce((sum, { ms }) => sum + ms, 0));
    setText(
      this.foot,
      `Last ${plural(steps, 'measured step')}: ${significant(msPerStep)} ms each, ` +
        `of which ${significant(between)} ms between kernels.`,
    );
  }

  /** Smooths the times. Kernels can share a name; the n-th kernel of a name is matched with the n-th of the last
   *  measurement. */
  private blend(kernels: KernelTiming[]): KernelTiming[] {
    const next = new Map<string, KernelTiming>();
    for (const kernel of kernels) {
      let nth = 0;
      while (next.has(`${nth} ${kernel.kind} ${kernel.name}`)) nth++;
      const key = `${nth} ${kernel.kind} ${kernel.name}`;
      const old = this.smooth.get(key) ?? kernel;
      const mix = (was: number, is: number): number => was + FRESH * (is - was);
      next.set(key, {
        ...kernel,
        ms: mix(old.ms, kernel.ms),
        gbps: mix(old.gbps, kernel.gbps),
        gflops: mix(old.gflops, kernel.gflops),
      });
    }
    this.smooth = next;
    return [...next.values()];
  }

  private row(i: number): Row {
    if (i === this.rows.length) {
      const row = makeRow();
      this.rows.push(row);
      this.body.append(row.element);
    }
    return this.rows[i];
  }

  /** `length` of the bar, relative to the slowest kernel. */
  private write(row: Row, kernel: KernelTiming, share: number, length: number): void {
    setText(row.name, kernel.name);
    row.name.title = `${kernel.name} (${kernel.kind})`;
    setText(row.kind, kernel.kind);
    setText(row.engine, kernel.engine);
    setText(row.calls, significant(kernel.calls, kernel.calls % 1 === 0 ? 1 : 2));
    setValue(row.ms, kernel.ms.toFixed(kernel.ms < 10 ? 3 : 2), kernel.ms);
    setText(row.share, `${(100 * (share || 0)).toFixed(1)} %`);
    row.fill.style.transform = `scaleX(${length || 0})`;
    setText(row.gbps, rate(kernel.gbps));
    setText(row.gflops, rate(kernel.gflops));
  }
}
