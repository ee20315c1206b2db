// logic-cases.mjs - the cases that sinter/logic is timed with: graphs and the program of their reachable pairs, random
// automata, and a wide network on random bits. All are made from seeds, in Node and in a page alike.
import { draw, randomCircuit } from '../js/test/circuitcases.mjs';
import { mulberry } from '../js/test/random.mjs';
import * as sn from '../js/dist/index.js';
import * as logic from '../js/dist/logic.js';

/** Parents and children: each person but the first has a parent among the few before, so that chains are about 74 long. */
export const genealogy = (people, seed, few = 58) => {
  const random = mulberry(seed);
  return Int32Array.from(Array.from({ length: people - 1 }, (_, i) => [i - random(Math.min(i + 1, few)), i + 1]).flat());
};

export const randomGraph = (nodes, edges, seed) => {
  const random = mulberry(seed);
  return Int32Array.from({ length: 2 * edges }, () => random(nodes));
};

/** The reachable pairs of a graph; own is the rule that extends a path. */
export const closureProgram = (nodes, own) => `
  domain Node = ${nodes}.
  Edge(Node, Node).
  Way(x, z) :- Edge(x, z).
  Way(x, z) :- ${own}.
`;

/** A random circuit whose outputs depend on about `gates` gates. */
export const randomAutomaton = (channels, gates) => {
  const below = draw(5);
  for (;;) {
    const automaton = { channels, boundary: 'zero', fire: 1 };
    const circuit = logic.circuitOf(randomCircuit(below, { inputs: 9 * channels, gates: 60, outputs: channels, automaton }));
    if (Math.abs(circuit.gates - gates) <= 3) return circuit;
  }
};

const INPUTS = 2352, WIDTH = 8000, LAYERS = 6;

/** A circuit of six wide layers, like that of a network on three bits a pixel. */
export const randomNetwork = () => {
  const below = draw(9);
  const from = (layer) => (layer ? INPUTS + (layer - 1) * WIDTH + below(WIDTH) : below(INPUTS));
  const functions = [1, 2, 6, 7, 8, 11, 14, 9];
  const gates = Array.from({ length: LAYERS * WIDTH }, (_, i) => {
    const layer = Math.floor(i / WIDTH);
    return [functions[below(functions.length)], from(layer), from(layer)];
  });
  const last = INPUTS + (LAYERS - 1) * WIDTH;
  return logic.circuitOf({ inputs: INPUTS, gates, outputs: Array.from({ length: WIDTH }, (_, i) => last + i), automaton: null });
};

/** The inputs of 16,384 examples of that network, 32 in a word, in blocks of `words` words. */
export const randomBits = (words) => {
  const below = draw(3);
  const blocks = 512 / words;
  const bits = Int32Array.from({ length: blocks * INPUTS * words }, () => (below(1 << 16) << 16) | below(1 << 16));
  return sn.tensor(bits, { shape: [blocks, INPUTS, words] });
};
