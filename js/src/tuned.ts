// What tuning has found on this machine (tune.ts): as text, or kept until the next visit.

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

/** All that tuning has found since init, and what use() and load() told. */
export function text(): string {
  const rt = runtime();
  return rt.text(rt.check(rt.exports.sinter_tuned()));
}

/** Programs that tune are from now on compiled at once as the text says, which text() gave. It may be of any machine. */
export function use(text: string): void {
  if (typeof text !== 'string') throw new SinterError('argument', 'tuned.use', `${shown(text)}, expected what tuned.text() gave`);
  const rt = runtime();
  rt.sendText(text);
  rt.ok(rt.exports.sinter_use_tuned());
}

/** Uses what save() kept, if there is anything. place: as there. */
export async function load(place?: string): Promise<void> {
  const bytes = await inFolder('tuned.load', place, (folder) => folder.read(FILE));
  if (bytes) use(new TextDecoder().decode(bytes));
}

/**
 * Keeps text() for load(): in Node in a folder, by default of the user's cache; in a page under a name in its private file
 * system.
 */
export async function save(place?: string): Promise<void> {
  const bytes = new TextEncoder().encode(text());
  await inFolder('tuned.save', place, (folder) => folder.write(FILE, bytes));
}
