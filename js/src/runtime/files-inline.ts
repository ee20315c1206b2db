// Stands in for files.ts in the one-file build: the module for one thread is base64 text in the script.

import base64 from '../sinter.wasm';
import { UnsupportedError } from '../errors.js';
import '../source.js';

export const hasWorkers = false;

export const moduleSource = (): Uint8Array =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

export const workerUrl = (): URL => {
  throw new UnsupportedError('init', 'sinter/inline has no workers');
};

/** Nothing to load: sinter/source is in this file. */
export const loadSource = (): void => {};
