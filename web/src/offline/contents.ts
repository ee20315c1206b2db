// What a page in one file has in it, beside the code: a program as JavaScript, its settings, and the data that it asks for;
// and what its two halves, the page and the trainer, say to each other.

import type { Problem } from '../compiler/protocol.ts';
import type { FromTrainer, Reading, About } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';

export interface Contents {
  title: string;
  /** As it was written; shown. */
  text: string;
  /** Types stripped, imports by require. */
  code: string;
  settings: Settings;
  /** Of the page that made the file. */
  address: string;
}

/** Ids of the elements that hold data: bytes packed by deflate, as base64. */
export const DATA_IDS = { digits: 'data-digits', text: 'data-text' };

/** Data by those ids, as they are in the file. */
export type Packed = Record<string, string>;

export type ToOffline = { type: 'open'; contents: Contents; packed: Packed } | { type: 'run'; on: boolean };

export type FromOffline =
  | { type: 'made'; about: string; views: About['views'] }
  /** Steps that were done, the last of them `step`. */
  | { type: 'trained'; step: number; readings: Reading[] }
  /** Training stands still. */
  | { type: 'failed'; problem: Problem }
  | Extract<FromTrainer, { type: 'views' | 'figures' | 'evaluation' }>;

/** Digits that go into a file: of the 60,000 to learn from, and of the 10,000 of the test. */
export const PACKED_DIGITS = { train: 6000, test: 1000 };
