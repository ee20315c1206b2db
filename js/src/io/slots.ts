// Where training states survive: two slots that are written in turn, in a page two files of its origin's private file
// system, in Node two files in a folder.
//
// Invariant: the slot with the newest whole state is never written to. Whoever is ended while writing, or finds the
// disk full, leaves it; which one that is follows from the generation and the checksums in each.

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
  /** Saves a tree, as saveState; without blocking a page. The state may be used up by a step meanwhile. */
  save(state: unknown): Promise<void>;
  /** Saves what saveState or snapshot gave. The bytes are the slots' until that is done. */
  write(bytes: Uint8Array): Promise<void>;
  /** The tree saved last, as loadState; null where nothing was saved yet. */
  load<T = unknown>(like?: T, options?: LoadStateOptions): Promise<T | null>;
}

/** The generation of a slot's bytes, -1 where they are no whole state. */
function generationOf(op: string, bytes: Uint8Array | null): number {
  try {
    return bytes ? readState(op, bytes).generation : -1;
  } catch {
    return -1;
  }
}

class TwoSlots implements Slots {
  readonly #folder: Folder;
  /** Of the newest whole state, and its slot; -1 where there is none. */
  #generation = -1;
  #newest = 1;
  /** Settles when nothing is being written. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** Runs f when what came before has ended. */
  #inTurn<T>(op: string, f: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(f).catch((cause: unknown) => {
      throw storageError(op, cause);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** The newest whole state, which is found anew: others may have written. */
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
    taken.catch(() => {}); // it may fail while others are still being written
    await this.#put(taken);
  }

  async write(given: Uint8Array): Promise<void> {
    const bytes = asBytes(WRITE, given);
    readState(WRITE, bytes);
    await this.#put(bytes);
  }

  /** Turns are in the order of the calls, however long it takes until bytes are there. */
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
 * Two slots in which training states survive: in a page under a name in its private file system, in Node in a folder.
 * Each save goes to the older one, so that a tab closed while it writes, or a full disk, leaves the last state whole.
 * One place has one writer at a time.
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
