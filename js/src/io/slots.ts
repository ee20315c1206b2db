// Slots keep training states beyond a crash or a closed page: two files that are written in turn, in a page in the private
// file system of its origin, in Node in a folder.
//
// Invariant: the slot with the newest whole state is never written to. A process that ends while it writes, or finds the
// disk full, leaves that state intact; which slot has it follows from the generations and the checksums.

import { shown } from '../check.js';
import { SinterError } from '../errors.js';
import { asBytes } from './elements.js';
import { openFolder, type Folder } from './folder.js';
import { snapshot } from './snapshot.js';
import { storageError } from './sources.js';
import { loadState, readState, setGeneration, type LoadStateOptions } from './state.js';

const WRITE = 'slots.write';
const NAMES = ['a.safetensors', 'b.safetensors'] as const;

export interface Slots {
  /** Saves a tree, as saveState, but without blocking a page. A step may use up the state meanwhile. */
  save(state: unknown): Promise<void>;
  /** Saves bytes that saveState or snapshot gave. The slots own the bytes until that is done, and write a generation
   *  into them. */
  write(bytes: Uint8Array): Promise<void>;
  /** The tree saved last, as loadState gives it; null if nothing was saved yet. */
  load<T = unknown>(like?: T, options?: LoadStateOptions): Promise<T | null>;
}

/** The generation of a slot's bytes; -1 if they are no whole state. */
function generationOf(op: string, bytes: Uint8Array | null): number {
  try {
    return bytes ? readState(op, bytes).generation : -1;
  } catch {
    return -1;
  }
}

class TwoSlots implements Slots {
  readonly #folder: Folder;
  /** The generation of the newest whole state, -1 if there is none; and its slot. */
  #generation = -1;
  #newest = 1;
  /** Settles when nothing is being written. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** Runs f when all earlier calls have ended. */
  #inTurn<T>(op: string, f: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(f).catch((cause: unknown) => {
      throw storageError(op, cause);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** The newest whole state. It is looked for anew, since other processes may have written. */
  async #find(op: string): Promise<Uint8Array | null> {
    let found: Uint8Array | null = null;
    this.#generation = -1;
    for (const [slot, name] of NAMES.entries()) {
      const bytes = await this.#folder.read(name);
      const generation = generationOf(op, bytes);
      if (generation <= this.#generation) continue;
      [this.#generation, this.#newest, found] = [generation, slot, bytes];
    }
    return found;
  }

  async save(state: unknown): Promise<void> {
    const taken = snapshot(state);
    taken.catch(() => {}); // it may fail while earlier saves are still being written; #put reports that
    await this.#put(taken);
  }

  async write(given: Uint8Array): Promise<void> {
    const bytes = asBytes(WRITE, given);
    readState(WRITE, bytes);
    await this.#put(bytes);
  }

  /** Writes bytes once they are there. Writes are in the order of the calls, however long each one's bytes take. */
  async #put(coming: Uint8Array | Promise<Uint8Array>): Promise<void> {
    await this.#inTurn(WRITE, async () => {
      const bytes = await coming;
      if (this.#generation < 0) await this.#find(WRITE);
      setGeneration(bytes, this.#generation + 1);
      const slot = 1 - this.#newest;
      await this.#folder.write(NAMES[slot]!, bytes);
      this.#generation++;
      this.#newest = slot;
    });
  }

  load<T = unknown>(like?: T, options?: LoadStateOptions): Promise<T | null> {
    const op = 'slots.load';
    return this.#inTurn(op, async () => {
      const bytes = await this.#find(op);
      return bytes ? loadState(bytes, like, options) : null;
    });
  }
}

/**
 * Opens two slots that keep training states: in a page under a name in its private file system, in Node in a folder. Each
 * save goes to the older one, so that a tab closed while it writes, or a full disk, leaves the last state intact. Only one
 * writer may use a place at a time.
 */
export async function openSlots(place: string): Promise<Slots> {
  const op = 'openSlots';
  if (typeof place !== 'string' || place === '') throw new SinterError('argument', op, `${shown(place)}, expected a name or a path`);
  try {
    return new TwoSlots(await openFolder(op, place));
  } catch (cause) {
    throw storageError(op, cause);
  }
}
