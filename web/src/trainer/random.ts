// The order of the training images, the errors of points to fit, new starts. Not for weights: those come from the
// library's own keys.
// The same seed gives the same order on every machine.

/** A small integer generator (splitmix32), one 32-bit state. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
}

/** Fisher-Yates, in place. */
export function shuffle(order: Uint32Array, next: () => number): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = next() % (i + 1);
    const swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}
