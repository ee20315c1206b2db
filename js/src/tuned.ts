// What tuning has found on this machine (tune.ts): as text, or kept for the next visit.

import { shown } from './check.js';
import { SinterError } from './errors.js';
import { openFolder, type Folder } from './io/folder.js';
import { storageError } from './io/sources.js';
import { cachePlace } from './runtime/environment.js';
import { runtime } from './runtime/runtime.js';

const FILE = 'tuned.txt';

async function inFolder<T>(op: string, place: string | undefined, f: (folder: Folder) => Promise<T>): Promise<T> {
  if (place !== undefined && (typeof place !== 'string' || place === ''))
    throw new SinterError('argument', op, `${shown(place)}, expected a name or a path`);
  try {
    return await f(await openFolder(op, place ?? cachePlace('sinter-tuned')));
  } catch (cause) {
    throw storageError(op, cause);
  }
}

/** All that tuning has found since init, and what use() and load() added, as text. */
export function text(): string {
  const rt = runtime();
  return rt.text(rt.check(rt.exports.sinter_tuned()));
}

/** From now on programs with option tune are compiled at once as the text says, which text() gave, on this machine or
 *  another. */
export function use(text: string): void {
  if (typeof text !== 'string') throw new SinterError('argument', 'tuned.use', `${shown(text)}, expected what tuned.text() gave`);
  const rt = runtime();
  rt.sendText(text);
  rt.ok(rt.exports.sinter_use_tuned());
}

/** Uses what save() kept, if there is anything. place: as in save(). */
export async function load(place?: string): Promise<void> {
  const bytes = await inFolder('tuned.load', place, (folder) => folder.read(FILE));
  if (bytes) use(new TextDecoder().decode(bytes));
}

/**
 * Keeps text() for load(). place: in Node a folder, by default one in the user's cache; in a page a name in its private
 * file system.
 */
export async function save(place?: string): Promise<void> {
  const bytes = new TextEncoder().encode(text());
  await inFolder('tuned.save', place, (folder) => folder.write(FILE, bytes));
}
