// What programs import from 'playground': the page's data sets. Each is loaded when it is first requested, and then kept.

import type * as declared from 'playground';
import { loadCorpus, textData, type TextData } from '../../trainer/text.ts';
import { digitData, type DigitData } from '../../trainer/digits.ts';
import { loadMnist, type Mnist, type OnProgress } from '../../trainer/mnist.ts';

const TEXT_URL = new URL('../../../text/sonnets.txt', import.meta.url).href;
/** The files lie beside the page. Built scripts are in a folder of it, those of the development server are not. */
const MNIST_URL = new URL(import.meta.env.DEV ? '/mnist/' : '../mnist/', import.meta.url).href;

/** The interval of reports, in ms, while a set is loading, even if nothing arrives: the reports also show that the worker is
 *  only waiting. */
const REPORT_MS = 100;

let watch: OnProgress = () => undefined;
let mnist: Promise<Mnist> | null = null;
let corpus: ReturnType<typeof loadCorpus> | null = null;

/** Sets the function that is told how much of a set has arrived. A total of 0 is not known yet. */
export function watchLoading(watcher: OnProgress): void {
  watch = watcher;
}

async function reported<T>(load: (onProgress: OnProgress) => Promise<T>): Promise<T> {
  let [received, total] = [0, 0];
  const timer = setInterval(() => watch(received, total), REPORT_MS);
  try {
    return await load((...now) => ([received, total] = now));
  } finally {
    clearInterval(timer);
  }
}

/** A load that failed is tried again the next time. */
function mnistSet(): Promise<Mnist> {
  mnist ??= reported((onProgress) => loadMnist(MNIST_URL, onProgress)).catch((error: unknown) => {
    mnist = null;
    throw error;
  });
  return mnist;
}

export async function digits({ batch, seed = 0, shape = [784] }: Parameters<typeof declared.digits>[0]): Promise<DigitData> {
  return digitData(await mnistSet(), { batch, seed, shape });
}

export async function sonnets({ batch, context, seed = 0 }: Parameters<typeof declared.sonnets>[0]): Promise<TextData> {
  corpus ??= reported(() => loadCorpus(TEXT_URL)).catch((error: unknown) => {
    corpus = null;
    throw error;
  });
  return textData(await corpus, { batch, context, seed });
}
