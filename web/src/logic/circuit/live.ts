// Computes the values of all signals of a circuit for one cell of a run.

import type { CircuitFacts } from '../automaton/protocol.ts';

/** The bits in the window of a cell, followed by the values of the gates. */
export function signalsAt({ inputs, gates, boundary, cells }: CircuitFacts, frame: number, x: number, y: number): Uint8Array {
  const { width, height, bits } = cells;
  const size = width * height;
  const signals = new Uint8Array(inputs + gates.length);
  const first = frame * (inputs / 9) * size;
  for (let input = 0; input < inputs; input++) {
    const place = input % 9;
    const [column, row] = [x + (place % 3) - 1, y + Math.floor(place / 3) - 1];
    const isOutside = column < 0 || row < 0 || column >= width || row >= height;
    if (isOutside && boundary === 'zero') continue;
    const at = ((row + height) % height) * width + ((column + width) % width);
    signals[input] = bits[first + Math.floor(input / 9) * size + at];
  }
  // The number of a function is its truth table: bit 3 is its value at (0, 0), bit 0 at (1, 1).
  gates.forEach(([f, a, b], i) => (signals[inputs + i] = (f >> (3 - 2 * signals[a] - signals[b])) & 1));
  return signals;
}
