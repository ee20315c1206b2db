// The settings of an automaton as fields. An invalid value is refused with a message, and the previous one stays in effect.

import { create, element } from '../../views/dom.ts';
import { MOST_BATCH, MOST_RATE, MOST_SEED, TARGETS, defaults, isTarget, type Settings } from './targets.ts';

export interface FormActions {
  /** Called when another automaton is wanted. */
  changed(settings: Settings): void;
  refused(text: string): void;
  /** Called when a refused value was replaced by the one in effect. */
  mended(text: string): void;
}

type NumberField = 'seed' | 'learningRate' | 'batch';

const FIELDS: Record<NumberField, { id: string; name: string; allowed: string; fits: (value: number) => boolean }> = {
  seed: {
    id: 'automaton-seed',
    name: 'Seed',
    allowed: `a whole number from 0 to ${MOST_SEED}`,
    fits: (value) => Number.isInteger(value) && value >= 0 && value <= MOST_SEED,
  },
  learningRate: {
    id: 'automaton-rate',
    name: 'Learning rate',
    allowed: `a number above 0, at most ${MOST_RATE}`,
    fits: (value) => value > 0 && value <= MOST_RATE,
  },
  batch: {
    id: 'automaton-batch',
    name: 'Grids in an epoch',
    allowed: `a whole number from 1 to ${MOST_BATCH}`,
    fits: (value) => Number.isInteger(value) && value >= 1 && value <= MOST_BATCH,
  },
};

export class SettingsForm {
  private readonly target = element<HTMLSelectElement>('automaton-target');
  private readonly cells = element<HTMLSelectElement>('automaton-cells');

  constructor(
    private settings: Settings,
    private readonly actions: FormActions,
  ) {
    for (const [name, { title }] of Object.entries(TARGETS)) {
      const option = create('option', '', title);
      option.value = name;
      this.target.append(option);
    }
    this.target.addEventListener('change', () => {
      if (isTarget(this.target.value)) this.change({ ...defaults(this.target.value, this.settings.picture), seed: this.settings.seed });
    });
    this.cells.addEventListener('change', () => {
      const { target } = this.settings;
      const asynchronous = this.cells.value === 'some';
      // Asynchronous automata take more steps, so one grid per epoch is enough.
      this.change({ ...this.settings, asynchronous, batch: asynchronous ? 1 : TARGETS[target].batch });
    });
    for (const field of Object.keys(FIELDS) as NumberField[]) this.input(field).addEventListener('change', () => this.read(field));
    this.show();
  }

  get current(): Settings {
    return this.settings;
  }

  /** Takes a picture that is still being drawn, without a notification. */
  draw(picture: number[][]): void {
    this.settings = { ...this.settings, picture };
  }

  setPicture(picture: number[][]): void {
    this.change({ ...this.settings, picture });
  }

  private input(field: NumberField): HTMLInputElement {
    return element<HTMLInputElement>(FIELDS[field].id);
  }

  private read(field: NumberField): void {
    const { name, allowed, fits } = FIELDS[field];
    const input = this.input(field);
    const value = input.value.trim() === '' ? NaN : Number(input.value);
    if (value === this.settings[field]) {
      this.show();
      return this.actions.mended(`${name}: ${value}, as before.`);
    }
    if (fits(value)) return this.change({ ...this.settings, [field]: value });
    input.setAttribute('aria-invalid', 'true');
    this.actions.refused(`${name}: expected ${allowed}. Kept: ${this.settings[field]}.`);
  }

  private change(settings: Settings): void {
    this.settings = settings;
    this.show();
    this.actions.changed(settings);
  }

  private show(): void {
    const { target, asynchronous } = this.settings;
    this.target.value = target;
    this.cells.value = asynchronous ? 'some' : 'all';
    this.cells.disabled = !TARGETS[target].canBeAsynchronous;
    for (const field of Object.keys(FIELDS) as NumberField[]) {
      this.input(field).value = String(this.settings[field]);
      this.input(field).removeAttribute('aria-invalid');
    }
  }
}
