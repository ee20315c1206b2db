// The level of setDebug as the front sees it: from 1 on it warns of what is legal but probably a mistake, and checks
// what would cost too much otherwise. In Node it starts as SINTER_DEBUG says.

import { debugAsked } from './runtime/environment.js';

let level = debugAsked;

export const debugLevel = (): number => level;

export function setDebugLevel(to: number): void {
  level = to;
}
