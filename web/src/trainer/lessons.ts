// Prepares an example: its data, which are loaded when first needed and kept, a session, and its examiner.

import type { FromTrainer } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';
import { DigitExaminer, digitSample, digitTask } from './digits.ts';
import type { Examiner } from './examiner.ts';
import { loadMnist, type Mnist } from './mnist.ts';
import { cnn, mlp, transformer } from './networks.ts';
import { Session } from './session.ts';
import { loadCorpus, TextExaminer, textTask, type Corpus } from './text.ts';

const TEXT_URL = new URL('../../text/sonnets.txt', import.meta.url).href;
const LOADING_REPORT_MS = 50;

export interface Lesson {
  session: Session;
  examiner: Examiner;
  /** The network in words. */
  about: string;
  settings: Settings;
}

export class Lessons {
  private mnist: Mnist | null = null;
  private corpus: Corpus | null = null;

  constructor(
    private readonly mnistUrl: string,
    private readonly post: (message: FromTrainer) => void,
  ) {}

  /** Whether the example's data are here. */
  has({ example }: Settings): boolean {
    return (example === 'text' ? this.corpus : this.mnist) !== null;
  }

  async load(settings: Settings, signal: AbortSignal): Promise<void> {
    if (this.has(settings)) return;
    if (settings.example === 'text') {
      this.corpus = await loadCorpus(TEXT_URL, signal);
      return;
    }
    let reportedAt = 0;
    this.mnist = await loadMnist(this.mnistUrl, signal, (received, total) => {
      const now = performance.now();
      if (now - reportedAt < LOADING_REPORT_MS) return;
      reportedAt = now;
      this.post({ type: 'loading', received, total });
    });
    this.post({ type: 'digits', sample: digitSample(this.mnist.test) });
  }

  /** After load, and after the library has started. */
  make(settings: Settings): Lesson {
    const lesson = settings.example === 'text' ? this.writing(settings) : this.reading(settings);
    lesson.examiner.rehearse();
    return lesson;
  }

  private reading(settings: Settings): Lesson {
    const { train, test } = needed(this.mnist);
    const network = (settings.example === 'cnn' ? cnn : mlp)(settings.sizes);
    const session = new Session(digitTask(network, train, settings), settings);
    return { session, examiner: new DigitExaminer(session, network, test, this.post), about: network.about, settings };
  }

  private writing(settings: Settings): Lesson {
    const corpus = needed(this.corpus);
    const { sizes, batch, seed } = settings;
    const setting = { batch, seed, context: sizes[2] };
    const network = transformer(sizes, corpus.letters.length);
    const session = new Session(textTask(network, corpus, setting), settings);
    const examiner = new TextExaminer(session, network, corpus, setting, this.post);
    return { session, examiner, about: network.about, settings };
  }
}

function needed<T>(data: T | null): T {
  if (data === null) throw new Error('the data are not loaded');
  return data;
}
