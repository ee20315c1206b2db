// Interprets the figures of layers, as badges and in words, by the usual rules of thumb: e.g. a step normally changes weights
// by about a thousandth of their length.

import type { ActivationReport, LayerReport } from '../state/inside.ts';
import { plural, short } from '../views/format.ts';

export interface Finding {
  /** Short, for a badge. */
  badge: string;
  /** Why it is marked, in a sentence; '' if nothing is wrong. */
  why: string;
}

const MOST_UPDATE = 0.05;
const LEAST_UPDATE = 1e-6;
/** A gradient that is shorter than the longest one by this factor hardly arrives. */
const VANISHING = 1e-5;
const MOST_DEAD = 0.1;
const MOST_SATURATED = 0.5;

const share = (value: number): string => `${value < 0.01 ? short(100 * value, 2) : Math.round(100 * value)} %`;

/** longest: the longest gradient of all layers. */
export function ofLayer({ name, length, norm, update, notFinite, size }: LayerReport, longest: number): Finding[] {
  const ratio = length > 0 ? update / length : NaN;
  const told = (why: string): string => (why === '' ? '' : `${name}: ${why}`);
  const gradient =
    notFinite > 0
      ? `${share(notFinite / size)} of its gradient is not finite. The Compiler tab finds the first such value with its switch "Stop at NaN".`
      : norm === 0
        ? 'no gradient reaches it: it does not learn from this batch.'
        : norm < VANISHING * longest
          ? `its gradient is ${short(longest / norm, 2)} times shorter than the longest: little of the error reaches it.`
          : '';
  const step =
    ratio > MOST_UPDATE
      ? `a step changes it by ${share(ratio)} of its length: a lower learning rate would be steadier.`
      : ratio < LEAST_UPDATE && norm > 0
        ? `a step changes it by ${short(100 * ratio, 2)} % of its length: it hardly moves.`
        : '';
  return [
    { badge: `gradient ${notFinite > 0 ? 'not finite' : short(norm, 2)}`, why: told(gradient) },
    { badge: `update ${Number.isNaN(ratio) ? '–' : share(ratio)}`, why: told(step) },
  ];
}

export function ofActivation({ name, kind, units, dead, saturated }: ActivationReport): Finding[] {
  const part = dead / units;
  const isDead = part >= MOST_DEAD;
  const found: Finding[] = [
    {
      badge: `${share(part)} dead`,
      why: isDead ? `${name}: ${share(part)} of ${plural(units, 'unit')} are 0 for every example of the batch. They pass no gradient on.` : '',
    },
  ];
  if (!Number.isNaN(saturated))
    found.push({
      badge: `${share(saturated)} at the ends`,
      why:
        saturated > MOST_SATURATED
          ? `${name}: ${share(saturated)} of its values are at the ends of ${kind}, where its slope is next to nothing.`
          : '',
    });
  return found;
}
