// What the user can set, with its limits. The only place that knows how a setting is written,
// read and checked; a parsed Settings is always valid.

import { EXAMPLES, isExample, type ExampleName } from './examples.ts';

export interface Settings {
  example: ExampleName;
  seed: number;
  learningRate: number;
  sizes: number[];
  batch: number;
}

/** The settings that have a field. */
export type SettingName = Exclude<keyof Settings, 'example'>;

export function defaults(example: ExampleName): Settings {
  return { example, seed: 0, ...EXAMPLES[example].defaults };
}

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

function sizes(text: string, example: ExampleName): number[] {
  const { sizesLabel, refuse } = EXAMPLES[example];
  const list = text.split(/[\s,]+/).filter((part) => part !== '').map(Number);
  const refused = list.every(Number.isInteger) ? refuse(list) : 'whole numbers';
  if (refused !== null) throw new SettingError(`${sizesLabel}: ${refused}`);
  return list;
}

const READ: { [K in SettingName]: (text: string, example: ExampleName) => Settings[K] } = {
  seed: (text) => integer(text, 0, 0xffffffff, 'Seed'),
  learningRate,
  sizes,
  batch: (text, example) => integer(text, 1, EXAMPLES[example].mostBatch, 'Batch size'),
};

export function formatSetting(settings: Settings, name: SettingName): string {
  const value = settings[name];
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** A copy of `settings` with one value read from text; throws SettingError. */
export function withSetting(settings: Settings, name: SettingName, text: string): Settings {
  return { ...settings, [name]: READ[name](text, settings.example) };
}

/** What someone gives as settings, a file for example, checked; throws SettingError. */
export function readSettings(given: unknown): Settings {
  const { example, ...values } = (given ?? {}) as { [name: string]: unknown };
  if (typeof example !== 'string' || !isExample(example)) throw new SettingError('there are no settings of an example');
  return (Object.keys(READ) as SettingName[]).reduce(
    (settings, name) => withSetting(settings, name, String(values[name])),
    defaults(example),
  );
}
