// Buttons, settings, and the line below them that reports the effect of a change. The learning rate can change while training
// goes on; every other setting makes a new network.

import type { Phase } from '../state/protocol.ts';
import {
  SETTING_LABELS,
  SETTING_NAMES,
  SettingError,
  formatSetting,
  readSetting,
  type SettingName,
  type Settings,
} from '../state/settings.ts';
import { element, inside, setText } from './dom.ts';

export interface ControlActions {
  start(): void;
  pause(): void;
  step(): void;
  /** Restarts training with the current settings. */
  reset(): void;
  /** A setting other than the learning rate was changed. */
  change(changed: Settings): void;
  learningRate(value: number): void;
  /** Ends a program that does not answer. */
  end(): void;
}

const TRAINING = 'Training. The learning rate can be changed on the way.';

export class Controls {
  /** The settings of the program that is being trained. */
  settings: Settings = {};

  private readonly start = element<HTMLButtonElement>('start');
  private readonly pause = element<HTMLButtonElement>('pause');
  private readonly step = element<HTMLButtonElement>('step');
  private readonly reset = element<HTMLButtonElement>('reset');
  private readonly end = element<HTMLButtonElement>('end');
  private readonly notice = element('notice');
  private readonly inputs = new Map<SettingName, HTMLInputElement>();
  private labels: Record<string, string> = {};
  private phase: Phase = 'loading';

  constructor(private readonly actions: ControlActions) {
    this.start.addEventListener('click', () => this.run('running'));
    this.pause.addEventListener('click', () => this.run('paused'));
    this.step.addEventListener('click', () => this.stepOnce());
    this.end.addEventListener('click', () => actions.end());
    this.reset.addEventListener('click', () => {
      this.run('paused');
      actions.reset();
      this.say('A fresh start, ready to go.');
    });
    for (const name of SETTING_NAMES) this.inputs.set(name, this.bind(name));
  }

  /** Shows a phase at once, before the trainer has answered; the trainer's own message then overrides it. */
  setPhase(phase: Phase): void {
    const wasStart = document.activeElement === this.start;
    const wasPause = document.activeElement === this.pause;
    // Training continues with another program, which is then not only ready.
    if (this.phase === 'loading' && phase === 'running') this.say(TRAINING);
    this.phase = phase;
    document.body.dataset.phase = phase;
    this.start.disabled = phase !== 'paused';
    this.pause.disabled = phase !== 'running';
    this.step.disabled = phase !== 'paused';
    this.reset.disabled = phase === 'loading';
    for (const input of this.inputs.values()) input.disabled = phase === 'loading' || phase === 'failed';
    // A disabled button loses the focus, so the button that replaces it gets it.
    if (wasStart && phase === 'running') this.pause.focus();
    if (wasPause && phase === 'paused') this.start.focus();
  }

  /** Whether there is a program to train. */
  get ready(): boolean {
    return this.phase === 'paused' || this.phase === 'running';
  }

  /** Offers to end a program that does not answer. */
  set canEnd(on: boolean) {
    this.end.hidden = !on;
  }

  toggle(): void {
    if (this.phase === 'paused') this.run('running');
    else if (this.phase === 'running') this.run('paused');
  }

  /** Pauses training, unless it is paused already. */
  rest(): void {
    if (this.phase === 'running') this.run('paused');
  }

  stepOnce(): void {
    if (this.phase === 'paused') this.actions.step();
  }

  /** Takes over the trainer's settings and the program's labels for them. Settings that are missing get no field. */
  adopt(settings: Settings, labels: Record<string, string>): void {
    this.settings = settings;
    this.labels = labels;
    for (const [name, input] of this.inputs) {
      const field = input.closest('label') as HTMLElement;
      field.hidden = settings[name] === undefined;
      setText(inside(field, 'span'), this.label(name));
      input.value = formatSetting(settings, name);
      input.removeAttribute('aria-invalid');
    }
  }

  /** Shows another learning rate while training goes on. */
  showRate(learningRate: number): void {
    if (this.settings.learningRate !== undefined) this.adopt({ ...this.settings, learningRate }, this.labels);
  }

  private label(name: SettingName): string {
    return this.labels[name] ?? SETTING_LABELS[name];
  }

  say(text: string, problem = false): void {
    setText(this.notice, text);
    this.notice.classList.toggle('problem', problem);
  }

  private run(phase: 'running' | 'paused'): void {
    if (!this.ready || this.phase === phase) return;
    this.setPhase(phase);
    if (phase === 'running') {
      this.actions.start();
      this.say(TRAINING);
    } else {
      this.actions.pause();
      this.say('Paused.');
    }
  }

  private bind(name: SettingName): HTMLInputElement {
    const input = element<HTMLInputElement>(name);
    input.value = formatSetting(this.settings, name);
    input.addEventListener('change', () => this.change(name, input));
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      input.value = formatSetting(this.settings, name);
      this.change(name, input);
    });
    return input;
  }

  /** Restores the settings that a program had before it refused others. The refused text stays in its field, to be
   *  corrected. */
  refuse(reason: string, kept: Settings): void {
    const name = SETTING_NAMES.find((each) => formatSetting(this.settings, each) !== formatSetting(kept, each)) ?? 'sizes';
    const input = this.inputs.get(name);
    const written = input?.value ?? '';
    this.adopt(kept, this.labels);
    if (input !== undefined) input.value = written;
    input?.setAttribute('aria-invalid', 'true');
    this.say(`${reason}. Kept: ${formatSetting(kept, name) || 'none'}.`, true);
  }

  private change(name: SettingName, input: HTMLInputElement): void {
    const before = formatSetting(this.settings, name);
    let changed: Settings;
    try {
      changed = readSetting(name, input.value);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      input.setAttribute('aria-invalid', 'true');
      this.say(`${error.message}. Kept: ${before || 'none'}.`, true);
      return;
    }
    const after = formatSetting(changed, name);
    if (after === before && input.ariaInvalid === 'true') this.say(`${this.label(name)}: ${after || 'none'}, as before.`);
    input.removeAttribute('aria-invalid');
    input.value = after;
    if (after === before || !this.ready) return;
    this.settings = { ...this.settings, ...changed };
    const what = `${this.label(name)}: ${before || 'none'} → ${after || 'none'}`;
    if (changed.learningRate !== undefined) {
      this.actions.learningRate(changed.learningRate);
      this.say(`${what}. Training goes on.`);
    } else {
      this.actions.change(changed);
      this.say(`${what}. Started over.`);
    }
  }
}
