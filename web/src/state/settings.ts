// What the user can set, with its limits. The only place that knows how a setting is written,
// read and checked; a parsed Settings is always valid.

export interface Settings {
  seed: number;
  learningRate: number;
  hidden: number[];
  batch: number;
}

export type SettingName = keyof Settings;

export const DEFAULTS: Settings = { seed: 0, learningRate: 0.001, hidden: [256, 128], batch: 128 };

const MAX_LAYERS = 6;
const MAX_WIDTH = 2048;
const MAX_BATCH = 2048;

/** A value out of range, in words for the user. */
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

function hidden(text: string): number[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length > MAX_LAYERS)
    throw new SettingError(`Hidden sizes: at most ${MAX_LAYERS} layers`);
  return parts.map((part) => integer(part, 1, MAX_WIDTH, 'Hidden sizes'));
}

const READ: { [K in SettingName]: (text: string) => Settings[K] } = {
  seed: (text) => integer(text, 0, 0xffffffff, 'Seed'),
  learningRate,
  hidden,
  batch: (text) => integer(text, 1, MAX_BATCH, 'Batch size'),
};

export function formatSetting(settings: Settings, name: SettingName): string {
  const value = settings[name];
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** A copy of `settings` with one value read from text; throws SettingError. */
export function withSetting(settings: Settings, name: SettingName, text: string): Settings {
  return { ...settings, [name]: READ[name](text) };
}
