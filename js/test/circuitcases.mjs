// Circuits for tests and benches, and what they mean: a plain evaluation, gate by gate and cell by cell.

/** The value of function f (gates16.ts) at bits a and b. */
export const valueAt = (f, a, b) => (f >> (3 - 2 * a - b)) & 1;

/** The outputs of one example. */
export function evaluate({ inputs, gates, outputs }, bits) {
  const signals = Array.from(bits.slice(0, inputs));
  for (const [f, a, b] of gates) signals.push(valueAt(f, signals[a], signals[b]));
  return outputs.map((signal) => signals[signal]);
}

/** The outputs of many examples: a column of bits for each input, and for each output. */
export const evaluateColumns = (data, columns) => {
  const rows = columns[0].map((_, i) => evaluate(data, columns.map((column) => column[i])));
  return data.outputs.map((_, k) => rows.map((row) => row[k]));
};

/** One step of an automaton whose cells all fire. */
export function step(data, cells, width, height) {
  const { channels, boundary } = data.automaton;
  const at = (channel, y, x) => {
    const inside = x >= 0 && x < width && y >= 0 && y < height;
    if (!inside && boundary === 'zero') return 0;
    return cells[(channel * height + ((y + height) % height)) * width + ((x + width) % width)];
  };
  const next = new Uint8Array(cells.length);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const window = [];
      for (let channel = 0; channel < channels; channel++)
        for (let place = 0; place < 9; place++) window.push(at(channel, y + Math.floor(place / 3) - 1, x + (place % 3) - 1));
      evaluate(data, window).forEach((bit, channel) => (next[(channel * height + y) * width + x] = bit));
    }
  return next;
}

/** Whole numbers below n, from a seed. */
export const draw = (seed) => (n) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return Math.floor(((seed >>> 8) / 2 ** 24) * n);
};

/** A circuit of any gates over earlier signals, near ones more often. */
export function randomCircuit(below, { inputs, gates, outputs, automaton = null }) {
  const wire = (i) => (below(3) ? Math.max(0, inputs + i - 1 - below(12)) : below(inputs + i));
  const list = Array.from({ length: gates }, (_, i) => [below(16), wire(i), wire(i)]);
  return { inputs, gates: list, outputs: Array.from({ length: outputs }, () => wire(gates)), automaton };
}

export const randomCells = (below, n) => Uint8Array.from({ length: n }, () => below(2));

/** Conway's rule: the eight neighbours added bit by bit; 3 of them make a cell, and 2 keep one. */
export function gameOfLife(boundary = 'wrap') {
  const gates = [];
  const gate = (f, a, b) => 9 + gates.push([f, a, b]) - 1;
  const [and, xor, or, andNot] = [1, 6, 7, 2].map((f) => (a, b) => gate(f, a, b));
  const add = (a, b, c) => {
    const half = xor(a, b);
    return [xor(half, c), or(and(a, b), and(half, c))];
  };
  const [s0, c0] = add(0, 1, 2);
  const [s1, c1] = add(3, 5, 6);
  const [s2, c2] = [xor(7, 8), and(7, 8)];
  const [one, c3] = add(s0, s1, s2);
  const [t, d0] = add(c0, c1, c2);
  const [two, d1] = [xor(t, c3), and(t, c3)];
  const alive = and(andNot(two, or(d0, d1)), or(one, 4));
  return { inputs: 9, gates, outputs: [alive], automaton: { channels: 1, boundary, fire: 1 } };
}

/** The same, counted. */
export function plainLife(cells, width, height, boundary) {
  const next = new Uint8Array(cells.length);
  const wraps = boundary === 'wrap';
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      let n = 0;
      for (let dy = -1; dy <= 1; dy++)
        for (let dx = -1; dx <= 1; dx++) {
          if (!dx && !dy) continue;
          const [p, q] = [y + dy, x + dx];
          if (wraps) n += cells[((p + height) % height) * width + ((q + width) % width)];
          else if (p >= 0 && q >= 0 && p < height && q < width) n += cells[p * width + q];
        }
      next[y * width + x] = Number(n === 3 || (n === 2 && cells[y * width + x]));
    }
  return next;
}
