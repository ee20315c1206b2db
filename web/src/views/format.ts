// Formats numbers for the page: English digits, and fixed decimals where values change live. Also formats problems.

/** Created with the first number: it takes milliseconds, which would delay the start of the page. */
let whole: Intl.NumberFormat | null = null;

export const NONE = '–';

/** The first characters of a name from an address, which may be any text. */
export const beginningOf = (name: string): string => name.slice(0, 40);

export function count(value: number): string {
  whole ??= new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
  return whole.format(value);
}

/** `digits` significant digits, without an exponent: 0.0123, 4.56, 78.9, 1,234. */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return NONE;
  const size = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toLocaleString('en', {
    minimumFractionDigits: Math.max(0, Math.min(4, digits - 1 - size)),
    maximumFractionDigits: Math.max(0, Math.min(4, digits - 1 - size)),
  });
}

/** A number of any magnitude: 0.003, 2.5e-5. */
export function short(value: number, digits = 3): string {
  const size = Math.abs(value);
  return size > 0 && (size < 1e-4 || size >= 1e5)
    ? value.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e')
    : String(Number(value.toPrecision(digits)));
}

/** Milliseconds; less than a hundredth cannot be measured. */
export const milliseconds = (value: number): string => (value < 0.01 ? '< 0.01' : significant(value, 2));

export function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['kB', 'MB', 'GB'];
  let unit = -1;
  let size = value;
  do {
    size /= 1024;
    unit++;
  } while (size >= 1024 && unit < units.length - 1);
  return `${size.toFixed(1)} ${units[unit]}`;
}

/** A total of 0 means that it is not known yet. */
export const loading = (received: number, total: number): string =>
  `Loading data${total === 0 ? '…' : `: ${bytes(received)} of ${bytes(total)}`}`;

export function plural(amount: number, noun: string, nouns = `${noun}s`): string {
  return `${count(amount)} ${amount === 1 ? noun : nouns}`;
}

/** A message with its hint, unless the message already contains it. */
export const withHint = ({ message, hint }: { message: string; hint: string }): string =>
  message.includes(hint) ? message : `${message} (${hint})`;

/** 1,234 -> 1.23 k, for comparing sizes; with a unit 1.23 kFLOP. */
export function scaled(value: number, unit = ''): string {
  const prefixes = ['', 'k', 'M', 'G', 'T'];
  let power = 0;
  let size = value;
  while (size >= 1000 && power < prefixes.length - 1) {
    size /= 1000;
    power++;
  }
  return `${power === 0 ? String(Math.round(size)) : significant(size)} ${prefixes[power]}${unit}`.trim();
}
