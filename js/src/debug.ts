// The level of setDebug on the side of JavaScript. From 1 on it warns of what is legal but probably a mistake, and makes
// checks that are too slow to be made always. In Node the level starts at SINTER_DEBUG.

import { debugAsked } from './runtime/environment.js';

let level = debugAsked;

export const debugLevel = (): number => level;

export function setDebugLevel(to: number): void {
  level = to;
}
