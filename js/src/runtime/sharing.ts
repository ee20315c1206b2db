// What a program can share its work with: cores, and workers that see its memory. Only init asks, so this file is apart
// from the files that workers load.

import { isNode, nodeModule } from './environment.js';
import { hasWorkers } from './files.js';

/** Cores that this process or page may use. */
export function cores(): number {
  const os = nodeModule('node:os');
  const count = os ? os.availableParallelism() : (globalThis.navigator?.hardwareConcurrency ?? 1);
  return Math.max(1, count);
}

/** Whether memory can be shared with workers, and why not. */
export function isolation(): { isolated: boolean; reason: string } {
  if (!hasWorkers) return { isolated: false, reason: 'one thread: sinter/inline has no workers' };
  if (isNode) return { isolated: true, reason: '' };
  if (typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated === true) {
    return { isolated: true, reason: '' };
  }
  return {
    isolated: false,
    reason:
      'one thread: the page is not cross-origin isolated; send the headers ' +
      '"Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp"',
  };
}
