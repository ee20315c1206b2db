// The networks that can be trained: what each is called, what its sizes mean, and how the page speaks of it.
// trainer/networks.ts builds them.

export type ExampleName = 'mlp' | 'cnn' | 'text';

export interface Example {
  /** The text on its button. */
  title: string;
  purpose: string;
  data: 'digits' | 'text';
  /** The label of the list of sizes. */
  sizesLabel: string;
  /** What is wrong with sizes; null: nothing. */
  refuse(sizes: readonly number[]): string | null;
  defaults: { sizes: number[]; batch: number; learningRate: number };
  mostBatch: number;
  optimizer: string;
  /** An element of a batch. */
  unit: string;
  /** What an epoch goes through. */
  epoch: string;
  /** What accuracy counts. */
  answers: string;
  /** The accuracy up to which the chart reaches at least. */
  chartTop: number;
  /** The loss down to which the chart reaches at least. */
  chartLoss: number;
  ready: string;
}

/** The rule that was broken, or null. */
function rule(ok: boolean, text: string): string | null {
  return ok ? null : text;
}

const within = (least: number, most: number) => (size: number): boolean => size >= least && size <= most;

const digits = {
  data: 'digits',
  optimizer: 'Adam',
  unit: 'image',
  epoch: '60,000 images each',
  answers: 'digits',
  chartTop: 0.996,
  chartLoss: 1,
  ready: 'Ready: 60,000 images to learn from, 10,000 to be tested on.',
} as const;

/** The heads of the transformer's attention. */
export const HEADS = 4;
/** How often 28 pixels can be halved. */
const MOST_CONVOLUTIONS = 4;

export const EXAMPLES: Record<ExampleName, Example> = {
  mlp: {
    ...digits,
    title: 'Dense',
    purpose: 'A network learns to read digits, in your browser.',
    sizesLabel: 'Hidden sizes',
    refuse: (sizes) => rule(sizes.length <= 6 && sizes.every(within(1, 2048)), 'at most 6 layers of 1 to 2048'),
    defaults: { sizes: [256, 128], batch: 128, learningRate: 0.001 },
    mostBatch: 2048,
  },
  cnn: {
    ...digits,
    title: 'Convolutional',
    purpose: 'A convolutional network learns to read digits, in your browser.',
    sizesLabel: 'Channels',
    refuse: (sizes) =>
      rule(
        within(1, MOST_CONVOLUTIONS)(sizes.length) && sizes.every(within(1, 128)),
        `1 to ${MOST_CONVOLUTIONS} layers of 1 to 128`,
      ),
    defaults: { sizes: [16, 32], batch: 64, learningRate: 0.001 },
    mostBatch: 512,
  },
  text: {
    title: 'Transformer',
    purpose: 'A transformer learns to write like Shakespeare, in your browser.',
    data: 'text',
    sizesLabel: 'Blocks, width, context',
    refuse: ([blocks = 0, width = 0, context = 0, ...rest]) =>
      rule(
        rest.length === 0 && within(1, 6)(blocks) && within(8, 256)(width) && width % HEADS === 0 && within(8, 256)(context),
        `1 to 6, 8 to 256 by ${HEADS}, 8 to 256`,
      ),
    defaults: { sizes: [2, 64, 64], batch: 16, learningRate: 0.003 },
    mostBatch: 128,
    optimizer: 'AdamW',
    unit: 'line',
    epoch: "Shakespeare's sonnets",
    answers: 'letters',
    chartTop: 0.6,
    chartLoss: 2,
    ready: "Ready: Shakespeare's sonnets to learn from, the last of them to be tested on.",
  },
};

export function isExample(name: string | null): name is ExampleName {
  return name !== null && Object.hasOwn(EXAMPLES, name);
}
