// The switches, and the measured effect of each: a row per pass, and some for the engine.

import { create, element, setText, setValue } from '../../views/dom.ts';
import { bytes, count, significant } from '../../views/format.ts';
import type { Effect, Setting } from '../experiment.ts';
import type { Engine, Further, Opened } from '../protocol.ts';

/** The largest ratio that bars show, in either direction. */
const BAR_END = 4;

export const FIRST_ENGINE: Engine = { threads: 0, jit: true, relaxedSimd: true, device: false };

const DEVICE = 'device';
const WINOGRAD = 'winograd';

interface Row {
  box: HTMLInputElement;
  ratio: HTMLElement;
  bar: HTMLElement;
  compile: HTMLElement;
  /** The figures of both settings. */
  detail: HTMLElement;
  /** The settings with this switch on or off, everything else unchanged. */
  with(on: boolean): Setting;
}

export interface Comparison {
  name: string;
  base: Setting;
  other: Setting;
  /** Whether the switch is on in `base`. */
  on: boolean;
}

export class Switches {
  private setting: Setting = { engine: FIRST_ENGINE, off: [] };
  private readonly body = element('switch-rows');
  private readonly rows = new Map<string, Row>();

  constructor(private readonly onChange: (setting: Setting) => void) {}

  get current(): Setting {
    return this.setting;
  }

  /** Makes the rows for what this engine offers. Switches that it cannot offer say why. */
  show(opened: Opened): void {
    if (this.rows.size > 0) return;
    const engine = (change: Partial<Engine>): Setting => ({
      ...this.setting,
      engine: { ...this.setting.engine, ...change },
    });
    const further = (change: Further): Setting => ({ ...this.setting, further: { ...this.setting.further, ...change } });
    const why = (word: string): string => opened.reasons.find((reason) => reason.includes(word)) ?? 'not available here';
    this.add('jit', 'JIT', 'kernels as WebAssembly made at run time', opened.jit, (jit) => engine({ jit }), why('jit'));
    this.add('relaxed', 'relaxed SIMD', 'fused multiply-add', opened.relaxedSimd, (relaxedSimd) => engine({ relaxedSimd }), why('relaxed'));
    this.add('threads', `${Math.max(opened.threads, 1)} threads`, 'all cores, or one', opened.threads > 1, (on) => engine({ threads: on ? 0 : 1 }), why('thread'));
    const hasWebGpu = (navigator as { gpu?: unknown }).gpu !== undefined;
    this.add(
      DEVICE,
      'graphics processor',
      'kernels as shaders in WGSL, through WebGPU',
      hasWebGpu,
      (device) => engine({ device }),
      'no WebGPU in this browser',
      false,
    );
    this.add(
      'float16',
      'values in 16 bits',
      'products take and give float16, and so does what is kept between',
      true,
      (on) => further({ precision: on ? 'float16' : 'float32' }),
      '',
      false,
    );
    this.add(
      WINOGRAD,
      'Winograd',
      'convolutions of 3 x 3 with fewer products, rounded worse',
      true,
      (winograd) => further({ winograd }),
      '',
      false,
    );
    const isFusion = (name: string): boolean => name === 'fuse';
    // JIT is a switch of the engine here, and Winograd is off at first. Fusion comes first, because most passes exist for it.
    const passes = opened.passes.filter((name) => name !== 'jit' && name !== WINOGRAD);
    for (const pass of [...passes.filter(isFusion), ...passes.filter((name) => !isFusion(name))]) {
      const title = isFusion(pass) ? 'fusion' : pass;
      this.add(pass, title, 'pass', true, (on) => {
        const off = this.setting.off.filter((name) => name !== pass);
        return { ...this.setting, off: on ? off : [...off, pass] };
      });
    }
  }

  /** The switches to be measured, each with both settings. The graphics processor is only measured if it is on, because
   *  there may be none. */
  comparisons(): Comparison[] {
    return [...this.rows].flatMap(([name, row]) =>
      row.box.disabled || (name === DEVICE && !row.box.checked)
        ? []
        : [{ name, base: this.setting, other: row.with(!row.box.checked), on: row.box.checked }],
    );
  }

  /** Switches the graphics processor off if there is none, although the browser could have one. */
  refuseDevice(reason: string): void {
    this.setting = { ...this.setting, engine: { ...this.setting.engine, device: false } };
    const row = this.rows.get(DEVICE);
    if (row === undefined) return;
    row.box.checked = false;
    row.box.disabled = true;
    row.ratio.replaceChildren(create('span', 'muted', reason));
  }

  clearEffects(): void {
    for (const row of this.rows.values()) {
      setValue(row.ratio, '', null);
      setText(row.compile, '');
      row.detail.hidden = true;
      row.bar.style.removeProperty('--gain');
    }
  }

  setEffect({ name, on }: Comparison, effect: Effect): void {
    const row = this.rows.get(name);
    if (row === undefined) return;
    // The ratio is always the time without the switch over the time with it.
    const gain = (ratio: number): number => (on ? ratio : 1 / ratio);
    const run = gain(effect.run);
    setValue(row.ratio, `× ${run.toFixed(2)} ± ${(gain(effect.run) * (effect.spread / effect.run) / 2).toFixed(2)}`, run);
    this.tell(row.detail, effect, on);
    setText(row.compile, `× ${gain(effect.compile).toFixed(2)}`);
    const length = Math.log(Math.min(BAR_END, Math.max(1 / BAR_END, run))) / Math.log(BAR_END);
    row.bar.style.setProperty('--gain', String(length));
    row.bar.classList.toggle('loss', length < 0);
  }

  /** Shows the figures without the switch and with it. */
  private tell(detail: HTMLElement, { figures, runMs }: Effect, on: boolean): void {
    const [was, is] = on ? figures : [figures[1], figures[0]];
    const [before, after] = on ? runMs : [runMs[1], runMs[0]];
    const rate = (flops: number, ms: number): string => significant(flops / ms / 1e6);
    const pair = (a: string, b: string, unit: string): string => (a === b ? `${a} ${unit}` : `${a} → ${b} ${unit}`);
    const parts = [
      pair(significant(before), significant(after), 'ms'),
      pair(rate(was.flops, before), rate(is.flops, after), 'GFLOP/s'),
      pair(count(was.kernels), count(is.kernels), 'kernels'),
      pair(bytes(was.bytes), bytes(is.bytes), 'moved'),
      pair(bytes(was.arenaBytes), bytes(is.arenaBytes), 'at the peak'),
    ];
    detail.hidden = false;
    setText(detail.firstElementChild as Element, parts.join(' · '));
  }

  private add(
    name: string,
    title: string,
    about: string,
    available: boolean,
    change: (on: boolean) => Setting,
    reason = '',
    begins = available,
  ): void {
    const box = create('input', '');
    box.type = 'checkbox';
    box.checked = begins;
    box.disabled = !available;
    box.dataset.testid = `switch-${name}`;
    box.setAttribute('role', 'switch');
    const label = create('label', 'toggle', box, create('span', 'knob'), create('span', '', title));
    label.title = available ? about : reason;
    const head = create('th', 'name', label);
    head.scope = 'row';
    const ratio = create('output', '');
    ratio.dataset.testid = `effect-${name}`;
    const bar = create('i', 'gain');
    const cell = create('td', 'ratio', bar, ratio);
    if (!available) cell.replaceChildren(create('span', 'muted', reason));
    const compile = create('td', 'number');
    const figures = create('td', '');
    figures.colSpan = 3;
    figures.dataset.testid = `figures-${name}`;
    const detail = create('tr', 'figures', figures);
    detail.hidden = true;
    this.body.append(create('tr', '', head, cell, compile), detail);
    this.rows.set(name, { box, ratio, bar, compile, detail, with: change });
    box.addEventListener('change', () => {
      this.setting = change(box.checked);
      this.onChange(this.setting);
    });
  }
}
