// Where the package's files are: the only place that names them. Bundlers find them by these literal expressions
// and copy them as they are, so each file is whole in itself.
//
// The one-file build, sinter/inline, has files-inline.ts in its place.

import { SinterError } from '../errors.js';
import { nodeModule } from './environment.js';

/** Whether there is a module for threads and a script for workers. */
export const hasWorkers = true;

/** Bundles of other formats than ES modules have no import.meta.url, and some places give no usable one. */
function located(name: string, locate: () => URL): URL {
  try {
    return locate();
  } catch (cause) {
    throw new SinterError('load', 'init', `${name} cannot be found: this bundle does not know its own URL`, {
      hint:
        'pass init({ wasm }), a URL, bytes or a WebAssembly.Module of sinter.wasm; bundle as an ES module; ' +
        "or import from 'sinter/inline', which is one file",
      cause,
    });
  }
}

export const moduleSource = (threaded: boolean): URL =>
  threaded
    ? located('sinter-mt.wasm', () => new URL('./sinter-mt.wasm', import.meta.url))
    : located('sinter.wasm', () => new URL('./sinter.wasm', import.meta.url));

export const workerUrl = (): URL => located('worker.js', () => new URL('./worker.js', import.meta.url));

/** Loads sinter/source where that can be done at once: in Node. */
export function loadSource(): void {
  nodeModule('node:module')?.createRequire(import.meta.url)('./source.js');
}
