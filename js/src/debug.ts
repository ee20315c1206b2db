// The level of setDebug as the front sees it: from 1 on it warns of what is legal but probably a mistake, and checks
// what would cost too much otherwise. In Node it starts as SINTER_DEBUG says.

const environment = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env;
const asked = environment?.['SINTER_DEBUG'] ?? '';

let level = /^[0-6]$/.test(asked) ? Number(asked) : 0;

export const debugLevel = (): number => level;

export function setDebugLevel(to: number): void {
  level = to;
}
