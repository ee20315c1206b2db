// The symbols of gates: AND, OR, XOR and a triangle, with a bubble where a value is inverted.

export const WIDTH = 46;
export const HEIGHT = 30;
const [LEFT, RIGHT, TOP, BOTTOM] = [-13, 13, -13, 13];
const BUBBLE = 3.2;

interface Symbol {
  body: 'and' | 'or' | 'xor' | 'pass' | 'constant';
  /** Whether the first input, the second one and the output are inverted. */
  not: readonly [boolean, boolean, boolean];
  reads: 'both' | 'a' | 'b' | 'none';
}

const symbol = (body: Symbol['body'], not = '', reads: Symbol['reads'] = 'both'): Symbol => ({
  body,
  not: [not.includes('a'), not.includes('b'), not.includes('o')],
  reads,
});

/** Symbols by the number of the function. */
export const SYMBOLS: readonly Symbol[] = [
  symbol('constant', '', 'none'),
  symbol('and'),
  symbol('and', 'b'),
  symbol('pass', '', 'a'),
  symbol('and', 'a'),
  symbol('pass', '', 'b'),
  symbol('xor'),
  symbol('or'),
  symbol('or', 'o'),
  symbol('xor', 'o'),
  symbol('pass', 'o', 'b'),
  symbol('or', 'b'),
  symbol('pass', 'o', 'a'),
  symbol('or', 'a'),
  symbol('and', 'o'),
  symbol('constant', '', 'none'),
];

const BODIES: Record<Symbol['body'], string> = {
  and: `M${LEFT} ${TOP}H0A13 13 0 0 1 0 ${BOTTOM}H${LEFT}Z`,
  or: `M${LEFT} ${TOP}Q4 ${TOP} ${RIGHT} 0Q4 ${BOTTOM} ${LEFT} ${BOTTOM}Q-6 0 ${LEFT} ${TOP}Z`,
  xor: `M${LEFT + 4} ${TOP}Q5 ${TOP} ${RIGHT} 0Q5 ${BOTTOM} ${LEFT + 4} ${BOTTOM}Q-2 0 ${LEFT + 4} ${TOP}ZM${LEFT} ${TOP}Q-6 0 ${LEFT} ${BOTTOM}`,
  pass: `M-9 -10L${RIGHT - 2} 0L-9 10Z`,
  constant: `M-9 -9H9V9H-9Z`,
};

/** The height of an input of a function, by its side, relative to the middle of the symbol. */
export function portOf(f: number, side: 0 | 1): number {
  return SYMBOLS[f].reads === 'both' ? (side === 0 ? -6 : 6) : 0;
}

/** The line to the left side of a body at a height. Or-bodies are concave there. */
function inputLine(body: Symbol['body'], y: number, inverted: boolean): string {
  const hollow = body === 'or' || body === 'xor' ? (body === 'or' ? -9.5 : -10.5) : body === 'pass' ? -9 : LEFT;
  return `M${-WIDTH / 2} ${y}H${inverted ? hollow - 2 * BUBBLE : hollow}`;
}

const bubble = (x: number, y: number): string => `M${x - BUBBLE} ${y}a${BUBBLE} ${BUBBLE} 0 1 0 ${2 * BUBBLE} 0a${BUBBLE} ${BUBBLE} 0 1 0 ${-2 * BUBBLE} 0Z`;

/** The outline of a symbol with its bubbles, and the short lines at its sides. */
export function pathsOf(f: number): { body: string; lines: string } {
  const { body, not, reads } = SYMBOLS[f];
  const sides = ([0, 1] as const).filter((side) => reads === 'both' || reads === (side === 0 ? 'a' : 'b'));
  const end = body === 'constant' ? 9 : body === 'pass' ? RIGHT - 2 : RIGHT;
  const lines = sides.map((side) => inputLine(body, portOf(f, side), not[side]));
  lines.push(`M${not[2] ? end + 2 * BUBBLE : end} 0H${WIDTH / 2}`);
  const bubbles = sides.filter((side) => not[side]).map((side) => {
    const y = portOf(f, side);
    const hollow = body === 'or' ? -9.5 : body === 'xor' ? -10.5 : LEFT;
    return bubble(hollow - BUBBLE, y);
  });
  if (not[2]) bubbles.push(bubble(end + BUBBLE, 0));
  return { body: BODIES[body] + bubbles.join(''), lines: lines.join('') };
}
