// The contents of a page in one file, besides its code: a program as JavaScript, its settings, and the data that it uses. Also
// the messages between its two halves, the page and the trainer.

import type { Problem } from '../compiler/protocol.ts';
import type { FromTrainer, Reading, About } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';

export interface Contents {
  title: string;
  /** The text as written, to be shown. */
  text: string;
  /** With types stripped, and imports by require. */
  code: string;
  settings: Settings;
  /** The address of the page that made the file. */
  address: string;
}

/** The ids of the elements that hold data: bytes compressed with deflate, as base64. */
export const DATA_IDS = { digits: 'data-digits', text: 'data-text' };

/** Data by those ids, as in the file. */
export type Packed = Record<string, string>;

export type ToOffline = { type: 'open'; contents: Contents; packed: Packed } | { type: 'run'; on: boolean };

export type FromOffline =
  | { type: 'made'; about: string; views: About['views'] }
  /** The steps that were done; the last one has the number `step`. */
  | { type: 'trained'; step: number; readings: Reading[] }
  /** Training has stopped. */
  | { type: 'failed'; problem: Problem }
  | Extract<FromTrainer, { type: 'views' | 'figures' | 'evaluation' }>;

/** The number of digits that go into a file, of 60,000 for training and 10,000 for the test. */
export const PACKED_DIGITS = { train: 6000, test: 1000 };
