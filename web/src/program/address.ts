// A program in the page's address: its compressed text, its settings, and which program of the list it comes from. They are in
// the fragment, beside the tab, so that no server sees them: #program=1.<packed>, or #compiler&program=1.<packed>. Opening such
// an address runs nothing by itself.

import { beginningOf } from '../views/format.ts';
import { readSettings, SETTING_NAMES, SettingError, type Settings } from '../state/settings.ts';
import type { Brought } from './packed.ts';

/** The packed program of an address; null if there is none. */
export const packedIn = (address: string): string | null => new URLSearchParams(new URL(address).hash.slice(1)).get('program');

/** The program in the address; null if there is none. */
export async function brought(): Promise<Brought | null> {
  const written = packedIn(location.href);
  return written === null ? null : (await import('./packed.ts')).unpack(written);
}

/** The program of the documentation that the address asks for; null if it asks for none. */
export async function documented(): Promise<string | null> {
  const name = new URLSearchParams(location.search).get('doc');
  return name === null ? null : (await import('./documented.ts')).read(name);
}

/** The settings of a program of the list: ?example=mlp&set=batch:64;seed:1. Throws SettingError. */
export function askedSettings(): Settings {
  const parts = (new URLSearchParams(location.search).get('set') ?? '').split(';').filter((part) => part !== '');
  // Without a colon, the name is read as the value, which no setting has.
  const asked = Object.fromEntries(parts.map((part) => [part.split(':', 1)[0], part.slice(part.indexOf(':') + 1)]));
  const unknown = Object.keys(asked).find((name) => !(SETTING_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) throw new SettingError(`there is no setting ${beginningOf(unknown)}; there are ${SETTING_NAMES.join(', ')}`);
  return readSettings(asked);
}
