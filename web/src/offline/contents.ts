// What a page in one file has in it, beside the code: a program as JavaScript, its settings, and the data that it asks for.

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

/** Digits that go into a file: of the 60,000 to learn from, and of the 10,000 of the test. */
export const PACKED_DIGITS = { train: 6000, test: 1000 };
