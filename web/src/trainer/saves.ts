// Training states as files, and the state that this browser keeps: in two slots of the origin private file system, if there is
// one.

import * as sn from 'sinter';
import { entry } from '../program/list.ts';
import { SettingError, readSettings, type Settings } from '../state/settings.ts';
import type { Saved } from './session.ts';

const PLACE = 'playground';

/** The settings of a saved run: the name of its program in the list, and the settings that it was made with. */
export interface SavedSettings extends Settings {
  example: string;
}

/** The contents of a file. */
export interface SavedRun extends Saved {
  settings: SavedSettings;
}

function checked(given: unknown): SavedSettings {
  const example: unknown = (given as { example?: unknown } | null | undefined)?.example;
  if (typeof example !== 'string' || entry(example) === null) throw new SettingError('there are no settings of an example');
  return { ...readSettings(given), example };
}

/** Reads a saved run. With `like`, the run must have the same structure, otherwise an error is thrown. */
export type Reader = (like?: SavedRun) => Promise<SavedRun>;

export const fromFile =
  (file: Blob): Reader =>
  async (like) =>
    sn.io.loadState<SavedRun>(await file.arrayBuffer(), like);

/** The settings with which the program of a saved run is made. */
export async function settingsOf(read: Reader): Promise<SavedSettings> {
  const run: unknown = await read();
  const settings = (run as Partial<SavedRun> | null)?.settings;
  sn.dispose(run);
  return checked(settings);
}

/** Reads a complete run that has the structure of another one. */
export async function readRun(read: Reader, like: SavedRun): Promise<Saved> {
  const run = await read(like);
  if (Number.isSafeInteger(run.steps) && run.steps >= 0) return run;
  sn.dispose(run);
  throw new Error(`a file with ${String(run.steps)} steps done`);
}

export class Saves {
  private slots: Promise<sn.io.Slots> | null = null;

  private open(): Promise<sn.io.Slots> {
    return (this.slots ??= sn.io.openSlots(PLACE));
  }

  /** The file of a run, and whether this browser keeps it too, or why not. */
  async save(run: SavedRun): Promise<{ bytes: Uint8Array<ArrayBuffer>; kept: true | string }> {
    const bytes = await sn.io.snapshot(run);
    try {
      await (await this.open()).write(bytes);
      return { bytes, kept: true };
    } catch (error) {
      return { bytes, kept: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The example and the step of the kept run; null if there is none. */
  async last(): Promise<{ example: string; step: number } | null> {
    try {
      const run = await (await this.open()).load<SavedRun>();
      sn.dispose(run);
      return run && { example: checked(run.settings).example, step: run.steps };
    } catch {
      return null;
    }
  }

  readonly read: Reader = async (like) => {
    const run = await (await this.open()).load<SavedRun>(like);
    if (run === null) throw new Error('there is no saved state');
    return run;
  };
}
