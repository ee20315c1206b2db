// The trainer: an actor. Commands wait in an inbox and are carried out only between steps, so nothing
// changes under a running program. While training, it works in slices of about 30 ms and then lets the
// inbox fill; it reports at most 8 times a second.

import * as sn from 'sinter';
import type { Failure, FromTrainer, Phase, ToTrainer } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';
import { Comparison } from './comparison.ts';
import { Lessons, type Lesson } from './lessons.ts';
import { Meter } from './meter.ts';
import { Profiler } from './profiler.ts';
import { Reporter } from './reporter.ts';
import { Saves, fromFile, readRun, settingsOf, type Reader } from './saves.ts';

declare const self: DedicatedWorkerGlobalScope;

const SLICE_MS = 30;
/** Of what an examiner shows between slices. */
const SHOW_MS = 10;
const COMPARED_MS = 125;
const PROFILE_EVERY_MS = 2000;
const PROFILE_STEPS = 20;
const PROFILE_MS = 60;

/** What is there once the library and the data are loaded. */
interface Workshop extends Lesson {
  reporter: Reporter;
}

const inbox: ToTrainer[] = [];
const profiler = new Profiler();
const saves = new Saves();
/** Known once the library has started. */
let lessons: Lessons | null = null;
/** While precisions are compared; training stands still meanwhile. */
let comparison: Comparison | null = null;
let comparedAt = 0;
/** Null while data are loading, and after that has failed. */
let shop: Workshop | null = null;
let phase: Phase = 'loading';
let pumping = false;
let profiledAt = 0;

function post(message: FromTrainer, transfer: Transferable[] = []): void {
  self.postMessage(message, transfer);
}

function describe(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), hint: '' };
  const { name, message } = error;
  const hint: unknown = 'hint' in error ? error.hint : undefined;
  const known = typeof hint !== 'string' || message.includes(hint);
  return { name, message, hint: known ? '' : hint };
}

function setPhase(next: Phase): void {
  phase = next;
  post({ type: 'phase', phase });
}

/** Lets waiting messages in: a task of its own, without the delay that timers have. */
const breathe = (() => {
  const { port1, port2 } = new MessageChannel();
  let wake = (): void => undefined;
  port1.onmessage = () => wake();
  return (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      port2.postMessage(null);
    });
})();

/** Asks for everything, so that the reasons name all that is missing. */
async function startLibrary(): Promise<void> {
  const info = await sn.init({ jit: true, relaxedSimd: true });
  const { threads, simd, relaxedSimd, jit, crossOriginIsolated, reasons, version } = info;
  post({
    type: 'capabilities',
    capabilities: { threads, simd, relaxedSimd, jit, crossOriginIsolated, reasons, version },
  });
}

/** From now on this is trained. */
function take(lesson: Lesson, isLoaded = false): void {
  endComparison();
  shop = { ...lesson, reporter: new Reporter(new Meter(), post) };
  profiledAt = 0;
  const { about, session, settings } = lesson;
  post({ type: 'network', about, weights: session.weights, settings, step: session.steps, isLoaded });
}

function reportComparison(isEnded: boolean): void {
  if (comparison === null) return;
  comparedAt = performance.now();
  const { report: runs, step } = comparison;
  post({ type: 'comparison', report: { runs, step, isEnded } });
}

function endComparison(): void {
  reportComparison(true);
  comparison?.dispose();
  comparison = null;
}

/** A slice of the comparison. */
function compare(running: Comparison): void {
  const begin = performance.now();
  do running.advance();
  while (!running.isDone && performance.now() - begin < SLICE_MS);
  if (running.isDone) endComparison();
  else if (performance.now() - comparedAt > COMPARED_MS) reportComparison(false);
}

function close(lesson: Lesson | null): void {
  lesson?.examiner.dispose();
  lesson?.session.dispose();
}

async function open({ mnistUrl, settings }: Extract<ToTrainer, { type: 'open' }>): Promise<void> {
  const abort = new AbortController();
  const first = new Lessons(mnistUrl, post);
  try {
    const library = startLibrary().then(() => void (lessons = first));
    await Promise.all([first.load(settings, abort.signal), library]);
    take(first.make(settings));
    setPhase('paused');
    const kept = await saves.last();
    if (kept !== null) post({ type: 'kept', ...kept });
  } catch (error) {
    abort.abort();
    throw error;
  }
}

/** The new network is made before the old one goes: if it does not fit, the old one stays. But no network is there
 *  while another's data are loaded. */
async function reset(from: Lessons, settings: Settings): Promise<void> {
  let old = shop;
  if (!from.has(settings)) {
    setPhase('loading');
    close(old);
    shop = old = null;
    await from.load(settings, new AbortController().signal);
  }
  take(from.make(settings));
  close(old);
  if (phase === 'loading') setPhase('paused');
}

/** Makes a file of the state, and keeps it here. */
async function save({ session, settings }: Workshop): Promise<void> {
  const { bytes, kept } = await saves.save({ settings, ...session.saved });
  post({ type: 'saved', bytes, step: session.steps, kept }, [bytes.buffer]);
}

/** Goes on from a saved state, with the settings it has. What is refused changes nothing. */
async function goOn(from: Lessons, read: Reader): Promise<void> {
  let lesson: Lesson | null = null;
  try {
    const settings = await settingsOf(read);
    await from.load(settings, new AbortController().signal);
    lesson = from.make(settings);
    lesson.session.restore(await readRun(read, { settings, ...lesson.session.saved }));
  } catch (error) {
    close(lesson);
    post({ type: 'refused', failure: describe(error) });
    return;
  }
  const old = shop;
  take(lesson, true);
  close(old);
  if (phase === 'loading') setPhase('paused');
  if (shop === null) return;
  shop.examiner.quick();
  shop.reporter.report(shop.session, true);
}

function trainOnce({ session, reporter }: Workshop): void {
  const begin = performance.now();
  const reading = session.step();
  reporter.step(reading, performance.now() - begin);
}

/** Trains until the budget is spent or an evaluation is due; returns the number of steps. */
function slice(place: Workshop, budgetMs: number, maxSteps: number): number {
  const begin = performance.now();
  let steps = 0;
  do {
    trainOnce(place);
    steps++;
  } while (
    steps < maxSteps &&
    !place.examiner.due &&
    performance.now() - begin < budgetMs
  );
  return steps;
}

/** One turn of training: a part of an examination, some measured steps, or a slice of steps. */
async function train(place: Workshop): Promise<void> {
  const { session, examiner, reporter } = place;
  reporter.meter.resume(performance.now());
  if (examiner.due) {
    examiner.advance();
  } else if (session.steps > 0 && performance.now() - profiledAt >= PROFILE_EVERY_MS) {
    const profile = await profiler.measure(() => slice(place, PROFILE_MS, PROFILE_STEPS));
    reporter.flopsPerStep = profile.flops;
    post({ type: 'profile', profile });
    profiledAt = performance.now();
  } else {
    slice(place, SLICE_MS, Infinity);
    examiner.show(SHOW_MS);
  }
  reporter.meter.mark(performance.now());
  reporter.report(session, false);
}

function stepOnce(place: Workshop): void {
  const { session, examiner, reporter } = place;
  reporter.meter.resume(performance.now());
  trainOnce(place);
  reporter.meter.mark(performance.now());
  reporter.meter.pause();
  examiner.quick();
  examiner.show(SHOW_MS);
  reporter.report(session, true);
}

function pause(place: Workshop): void {
  place.reporter.meter.pause();
  place.reporter.report(place.session, true);
  setPhase('paused');
}

async function carryOut(command: ToTrainer): Promise<void> {
  if (command.type === 'open') return open(command);
  if (command.type === 'reset' && lessons !== null) return reset(lessons, command.settings);
  if (command.type === 'load' && lessons !== null) return goOn(lessons, fromFile(command.file));
  if (command.type === 'continue' && lessons !== null) return goOn(lessons, saves.read);
  if (shop === null) return;
  switch (command.type) {
    case 'start':
      endComparison();
      if (phase === 'paused') setPhase('running');
      break;
    case 'pause':
      if (phase === 'running') pause(shop);
      break;
    case 'step':
      if (phase === 'paused') stepOnce(shop);
      break;
    case 'learningRate':
      shop.session.setLearningRate(command.value);
      shop.settings = { ...shop.settings, learningRate: command.value };
      break;
    case 'compare':
      endComparison();
      if (phase === 'running') pause(shop);
      if (command.on) comparison = new Comparison(shop.session.task, shop.settings);
      reportComparison(false);
      break;
    case 'save':
      await save(shop);
      break;
    case 'classify': {
      const values = shop.examiner.classify(command.pixels);
      if (values !== null) post({ type: 'probabilities', values });
      break;
    }
    case 'trace': {
      const json = profiler.traceJson();
      if (json !== null) post({ type: 'trace', json });
      break;
    }
  }
}

/** After an error, training stands still; the user may go on, change a setting or reset. */
function fail(error: unknown): void {
  endComparison();
  post({ type: 'failure', failure: describe(error) });
  if (shop !== null) {
    shop.reporter.meter.pause();
    setPhase('paused');
  }
}

async function pump(): Promise<void> {
  if (pumping) return;
  pumping = true;
  while (inbox.length > 0 || phase === 'running' || comparison !== null) {
    try {
      const command = inbox.shift();
      if (command !== undefined) await carryOut(command);
      else if (comparison !== null) compare(comparison);
      else if (shop !== null) await train(shop);
    } catch (error) {
      fail(error);
    }
    if (inbox.length === 0) await breathe();
  }
  pumping = false;
}

self.onmessage = (event: MessageEvent<ToTrainer>) => {
  if (event.data.type === 'ping') {
    post({ type: 'alive' });
    return;
  }
  inbox.push(event.data);
  void pump();
};
