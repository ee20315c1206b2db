// Prepares a program for training: a session, and the examiners that look at it. There are examiners for the data that the page
// knows, and one for what the program itself wants to show.

import * as sn from 'sinter';
import { CheckedCards } from './cards.ts';
import { DigitExaminer, digitSample, isDigits } from './digits.ts';
import { together, type Examiner } from './examiner.ts';
import { isText, TextExaminer } from './text.ts';
import { OwnExaminer } from './own.ts';
import { Session } from './session.ts';
import { watchedSinter } from './inside/watched.ts';
import { readProgram } from '../program/workers/read.ts';
import type { Module, Training } from '../program/workers/training.ts';
import type { Print } from '../program/workers/evaluate.ts';
import type { About, FromTrainer, ProgramText, TrainedOn } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';

export interface Lesson {
  program: ProgramText;
  module: Module;
  session: Session;
  /** Owns the tensors that the program itself made. */
  made: sn.Scope[];
  examiner: Examiner;
  cards: CheckedCards;
  about: About;
  settings: Settings;
}

/** What the page shows: digits that are read, text that is written, or the program's own views. */
function kindOf({ data, predict }: Training): About['data'] {
  if (predict === null) return 'own';
  return isDigits(data) ? 'digits' : isText(data) ? 'text' : 'own';
}

/** Where messages and printed lines go, and where the program runs. */
export interface Surroundings {
  post(message: FromTrainer): void;
  print: Print;
  device: TrainedOn;
}

/** Runs a program's text and prepares it for training. null for a script, which has then run. */
export async function prepare(program: ProgramText, changed: Settings, { post, print, device }: Surroundings): Promise<Lesson | null> {
  const module = await readProgram(program, { print, sinter: watchedSinter });
  if (module === null) return null;
  const settings = { ...module.settings, ...changed };
  const made = sn.scope();
  let session: Session | null = null;
  try {
    session = new Session(await module.make(settings, made), settings.seed ?? 0, { device });
    await session.rehearse();
    await session.bring();
    return { program, module, session, made: [made], settings, ...lookAt(session, module, post) };
  } catch (error) {
    session?.dispose();
    made.dispose();
    throw error;
  }
}

function lookAt(session: Session, module: Module, post: (message: FromTrainer) => void): Pick<Lesson, 'examiner' | 'cards' | 'about'> {
  const { training } = session;
  const { data, predict } = training;
  const cards = new CheckedCards(module.lesson, post);
  const told = (message: FromTrainer): void => {
    if (message.type === 'evaluation') cards.figures.accuracy = message.evaluation.accuracy;
    post(message);
  };
  const examiners: Examiner[] = [new OwnExaminer(session, cards, told)];
  if (predict !== null && isDigits(data)) {
    post({ type: 'digits', sample: digitSample(data.test) });
    examiners.push(new DigitExaminer(session, predict, data, told));
  }
  if (predict !== null && isText(data)) examiners.push(new TextExaminer(session, predict, data, told));
  const examiner = together(examiners);
  examiner.rehearse();
  const about: About = {
    text: training.about,
    data: kindOf(training),
    hasAccuracy: examiners.length > 1 || 'accuracy' in training.metrics,
    labels: module.labels,
    cards: module.lesson.map(({ text, see = null, check }) => ({ text, see, isChecked: check !== undefined })),
    views: training.views.map(({ kind, title }) => ({ kind, title })),
  };
  return { examiner, cards, about };
}
