// Checks the arguments of sinter/report.

import { SinterError, internals, type Profile } from '../index.js';

/** Refuses anything that lacks the lists of a profile that are used. */
export function checkProfile(op: string, given: Profile, lists: readonly (keyof Profile)[]): void {
  if (typeof given === 'object' && given !== null && lists.every((name) => Array.isArray(given[name]))) return;
  throw new SinterError('argument', op, `expected a profile, not ${internals.shown(given)}`, { hint: 'await sn.profile(() => ...) gives one' });
}
