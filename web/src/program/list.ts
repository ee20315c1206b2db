// The programs of the playground: those in gallery/ that learn, and those that only the Compiler tab shows. A text is loaded
// when it is first requested.

export interface Entry {
  name: string;
  title: string;
  /** What the page says about it beside its name. */
  purpose: string;
  /** Whether there is something to train. */
  learns: boolean;
}

const FILES = import.meta.glob<string>('./gallery/*.ts', { query: '?raw', import: 'default' });

const learns = (name: string, title: string, purpose: string): Entry => ({ name, title, purpose, learns: true });
const looked = (name: string, title: string): Entry => ({ name, title, purpose: 'A program to look at, from the first graph to the code.', learns: false });

export const PROGRAMS: readonly Entry[] = [
  learns('xor', 'XOR', 'Four neurons part what no line can part.'),
  learns('spirals', 'Spirals', 'A boundary winds itself between two spirals.'),
  learns('mlp', 'Dense', 'A network learns to read digits, in your browser.'),
  learns('cnn', 'Convolutional', 'A convolutional network learns to read digits, in your browser.'),
  learns('text', 'Transformer', 'A transformer learns to write like Shakespeare, in your browser.'),
  learns('vae', 'Autoencoder', 'Digits become places in a plane, and places digits.'),
  learns('diffusion', 'Diffusion', 'A ring is made of nothing but noise.'),
  learns('physics', 'Physics', 'A network learns a function from its differential equation alone.'),
  learns('heating', 'Heating', 'The gradient of a simulation keeps a building warm.'),
  learns('throw', 'Throw', 'A gradient goes through a simulation, back to the hand.'),
  learns('automaton', 'Automaton', 'Out of one cell a heart grows.'),
  looked('softmax', 'Softmax'),
  looked('layer-norm', 'Layer norm'),
  looked('gelu', 'GELU chain'),
  looked('dense', 'Matmul + bias + ReLU'),
  looked('attention', 'Attention, by hand'),
  looked('convolution', 'Convolution + batch norm + ReLU'),
  looked('building', 'Building simulation, gradient'),
  looked('loop', 'A loop and its adjoint'),
];

export const FIRST = 'mlp';

export const entry = (name: string): Entry | null => PROGRAMS.find((each) => each.name === name) ?? null;

/** The text of a program of the list, as the editor shows it. */
export async function textOf(name: string): Promise<string> {
  const load = FILES[`./gallery/${name}.ts`];
  if (load === undefined) throw new Error(`there is no program ${name}`);
  return load();
}
