// Random numbers for the order of the training images, the noise of points to fit, and new starts. Not for weights: those come
// from the library's own keys. The same seed gives the same order on every machine.

function mixed(z: number): number {
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

/** A small integer generator (splitmix32) with a 32-bit state. One seed gives any number of sequences, selected by `number`. */
export function generator(seed: number, number = 0): () => number {
  let state = (number === 0 ? seed : mixed(seed ^ mixed(number))) >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mixed(state);
  };
}

/** Fisher-Yates shuffle, in place. */
export function shuffle(order: Uint32Array, next: () => number): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = next() % (i + 1);
    const swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}
