// What is given to sinter/report.

import { SinterError, internals, type Profile } from '../index.js';

/** A profile has lists, whatever else is in it. */
export function checkProfile(op: string, given: Profile): void {
  const lists: (keyof Profile)[] = ['kernels', 'workers', 'spans'];
  if (typeof given === 'object' && given !== null && lists.every((name) => Array.isArray(given[name]))) return;
  throw new SinterError('argument', op, `expected a profile, not ${internals.shown(given)}`, { hint: 'await sn.profile(() => ...) gives one' });
}
