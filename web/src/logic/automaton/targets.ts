// The targets that automata can learn here, with the initial settings of each.

export type TargetName = 'checkerboard' | 'life' | 'checkerboard-small' | 'picture' | 'healing';

export interface Settings {
  target: TargetName;
  /** Seed of the wires, the first gates and all random draws. */
  seed: number;
  learningRate: number;
  /** Grids per epoch. */
  batch: number;
  /** Whether only a random share of the cells changes in each step. */
  asynchronous: boolean;
  /** Rows of 0 and 1, if a picture is learnt. */
  picture: number[][];
}

export interface Target {
  title: string;
  /** What is learnt, for the user. */
  story: string;
  learningRate: number;
  batch: number;
  /** Whether it is a picture drawn by the user. */
  drawn: boolean;
  /** Whether asynchronous automata can learn it. */
  canBeAsynchronous: boolean;
}

export const TARGETS: Record<TargetName, Target> = {
  checkerboard: {
    title: 'Checkerboard',
    story: 'From random bits, squares of 2 × 2 within 20 steps. Every cell sees its eight neighbours and knows nothing of its place.',
    learningRate: 0.15,
    batch: 2,
    drawn: false,
    canBeAsynchronous: true,
  },
  life: {
    title: 'Game of Life',
    story: "Conway's rule from all 512 neighbourhoods, which this grid has once each. Once every cell is right, the circuit is exact.",
    learningRate: 0.05,
    batch: 1,
    drawn: false,
    canBeAsynchronous: false,
  },
  'checkerboard-small': {
    title: 'Checkerboard, small net',
    story: 'The same squares by half as many gates: faster epochs, about as many of them.',
    learningRate: 0.15,
    batch: 2,
    drawn: false,
    canBeAsynchronous: true,
  },
  picture: {
    title: 'Your picture, grown',
    story: 'One cell in the middle grows into the picture within 12 steps. Draw it, or choose one.',
    learningRate: 0.05,
    batch: 1,
    drawn: true,
    canBeAsynchronous: false,
  },
  healing: {
    title: 'Your picture, healing',
    story: 'The picture grows, and grows again where a square of it was cleared. It takes longer than growing alone.',
    learningRate: 0.05,
    batch: 1,
    drawn: true,
    canBeAsynchronous: false,
  },
};

export const isTarget = (name: unknown): name is TargetName => typeof name === 'string' && Object.hasOwn(TARGETS, name);

export const FIRST: TargetName = 'checkerboard';
export const MOST_SEED = 999_999;
export const MOST_BATCH = 16;
export const MOST_RATE = 1;

export function defaults(target: TargetName, picture: number[][]): Settings {
  const { learningRate, batch } = TARGETS[target];
  return { target, seed: 1, learningRate, batch, asynchronous: false, picture };
}
