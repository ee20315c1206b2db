// The settings of a program that the user can change, with their limits. Only this file knows how a setting is written, read
// and checked. A program has those settings that it declares, and may refuse further values.

export interface Settings {
  sizes?: readonly number[];
  batch?: number;
  learningRate?: number;
  seed?: number;
}

export type SettingName = keyof Settings;

export const SETTING_NAMES: readonly SettingName[] = ['learningRate', 'sizes', 'batch', 'seed'];

export const SETTING_LABELS: Record<SettingName, string> = {
  learningRate: 'Learning rate',
  sizes: 'Sizes',
  batch: 'Batch size',
  seed: 'Seed',
};

const MOST_BATCH = 4096;

/** A value out of range, described for the user. */
export class SettingError extends Error {}

function integer(text: string, min: number, max: number, what: string): number {
  const value = Number(text.trim());
  if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max)
    throw new SettingError(`${what}: a whole number from ${min} to ${max}`);
  return value;
}

function learningRate(text: string): number {
  const value = Number(text.trim());
  if (!(value > 0 && value <= 1)) throw new SettingError('Learning rate: above 0, at most 1');
  return value;
}

function sizes(text: string): number[] {
  const list = text.split(/[\s,]+/).filter((part) => part !== '').map(Number);
  if (!list.every(Number.isSafeInteger)) throw new SettingError('Sizes: whole numbers');
  return list;
}

const READ: { [K in SettingName]-?: (text: string) => NonNullable<Settings[K]> } = {
  seed: (text) => integer(text, 0, 0xffffffff, 'Seed'),
  learningRate,
  sizes,
  batch: (text) => integer(text, 1, MOST_BATCH, 'Batch size'),
};

export function formatSetting(settings: Settings, name: SettingName): string {
  const value = settings[name];
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

/** Reads a setting from text; throws SettingError. */
export const readSetting = (name: SettingName, text: string): Settings => ({ [name]: READ[name](text) });

/** Checks settings from outside, for example from a file; throws SettingError. Other properties are left out. */
export function readSettings(given: unknown): Settings {
  const values = (given ?? {}) as { [name: string]: unknown };
  const there = SETTING_NAMES.filter((name) => values[name] !== undefined);
  return Object.assign({}, ...there.map((name) => readSetting(name, String(values[name])))) as Settings;
}
