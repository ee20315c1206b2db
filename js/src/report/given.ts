// What is given to sinter/report.

import { SinterError, internals, type Profile } from '../index.js';

/** Refuses what has not the lists of a profile that are read. */
export function checkProfile(op: string, given: Profile, lists: readonly (keyof Profile)[]): void {
  if (typeof given === 'object' && given !== null && lists.every((name) => Array.isArray(given[name]))) return;
  throw new SinterError('argument', op, `expected a profile, not ${internals.shown(given)}`, { hint: 'await sn.profile(() => ...) gives one' });
}
