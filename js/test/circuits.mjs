// Circuits in plain JavaScript: the judge of what sinter/logic extracts.

/** The rows of a tensor as bits. */
export const bitsOf = (t) => t.toArray().map((row) => row.map(Number));

/** Gates [f, a, b] over columns of bits, one array per input; bit 3 - 2a - b of f is its value. Gives a row per output. */
export const evaluate = ({ gates, outputs }, columns) => {
  const signals = [...columns];
  for (const [f, a, b] of gates) signals.push(signals[a].map((x, i) => (f >> (3 - 2 * x - signals[b][i])) & 1));
  return outputs.map((signal) => signals[signal]);
};

/** One step of an extracted automaton: cells[channel][y][x] -> the same. */
export const stepOf = (circuit, cells) => {
  const { channels, boundary } = circuit.automaton;
  const [height, width] = [cells[0].length, cells[0][0].length];
  const at = (channel, y, x) => {
    if (boundary === 'wrap') return cells[channel][(y + height) % height][(x + width) % width];
    return cells[channel][y]?.[x] ?? 0;
  };
  const columns = Array.from({ length: 9 * channels }, (_, input) => {
    const [channel, dy, dx] = [Math.floor(input / 9), Math.floor((input % 9) / 3) - 1, (input % 3) - 1];
    return Array.from({ length: height * width }, (_, i) => at(channel, Math.floor(i / width) + dy, (i % width) + dx));
  });
  return evaluate(circuit, columns).map((row) => Array.from({ length: height }, (_, y) => row.slice(y * width, (y + 1) * width)));
};
