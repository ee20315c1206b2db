// The trainer: an actor. Commands wait in an inbox and are carried out only between steps, so nothing changes under a running
// program. While training, it works in slices of about 12 ms, and then lets messages arrive. It reports at most 4 times a
// second.

import * as sn from 'sinter';
import { describe as problemOf } from '../compiler/workers/source.ts';
import { textOf } from '../program/list.ts';
import { graphicsDevice } from '../program/workers/device.ts';
import { watchLoading } from '../program/workers/playground.ts';
import type { Failure, FromTrainer, Phase, ProgramText, ToTrainer, TrainedOn } from '../state/protocol.ts';
import type { Settings } from '../state/settings.ts';
import type { Looked } from '../state/inside.ts';
import { Comparison } from './comparison.ts';
import { deviceFound, sayDevice } from './device.ts';
import type { Inside } from './inside/inside.ts';
import { prepare, type Lesson, type Surroundings } from './lessons.ts';
import { Meter } from './meter.ts';
import { Pace } from './pace.ts';
import { Printer } from './printer.ts';
import { Profiler } from './profiler.ts';
import { Reporter } from './reporter.ts';
import { Saves, fromFile, readRun, settingsOf, type Reader } from './saves.ts';

declare const self: DedicatedWorkerGlobalScope;

const SLICE_MS = 12;
/** How long training rests, in ms, after each key press or pointer event: at most what a frame of the page takes. */
const GIVE_WAY_MS = 100;
/** The time for what an examiner shows between slices. */
const SHOW_MS = 10;
const COMPARED_MS = 125;
const PROFILE_EVERY_MS = 2000;
const PROFILE_STEPS = 20;
const PROFILE_MS = 60;
/** The pause between two steps of a program with a pace, and between two looks into the inbox while training rests. */
const PACE_MS = 4;
/** The most bytes of tensors. A program that keeps more gets an OutOfMemoryError, and the page keeps working. */
const MOST_MEMORY = 2 ** 31;

/** What exists once the library and the data are loaded. */
interface Workshop extends Lesson {
  reporter: Reporter;
  pace: Pace;
  /** null until one of its views is open. */
  inside: Inside | null;
}

const inbox: ToTrainer[] = [];
const profiler = new Profiler();
const saves = new Saves();
const printer = new Printer(post);
/** Whether the library has started. */
let started = false;
/** Where programs are to be trained; fixed for the life of the worker. */
let asked: TrainedOn = 'cpu';
/** Set while precisions are compared; training rests meanwhile. */
let comparison: Comparison | null = null;
let comparedAt = 0;
/** The views that are open, whatever the program. */
let looked: Looked[] = [];
/** null while a program is made, and after that has failed. */
let shop: Workshop | null = null;
let phase: Phase = 'loading';
let pumping = false;
let profiledAt = 0;
/** Until this time the page has the processor. */
let givenWayUntil = 0;

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

/** Lets waiting messages arrive: a task of its own, without the delay of timers. */
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

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Requests all features, so that the reasons name everything that is missing. */
async function startLibrary(): Promise<void> {
  const device = asked === 'cpu' ? undefined : await graphicsDevice();
  const info = await sn.init({ jit: true, relaxedSimd: true, maxMemory: MOST_MEMORY, device });
  const { threads, simd, relaxedSimd, jit, crossOriginIsolated, reasons, version } = info;
  post({
    type: 'capabilities',
    capabilities: { threads, simd, relaxedSimd, jit, crossOriginIsolated, reasons, version },
  });
}

const surroundings = (): Surroundings => ({ post, print: printer.print, device: deviceFound(asked) });

/** Makes this the program that is trained. */
async function take(lesson: Lesson, isLoaded = false): Promise<void> {
  endComparison();
  shop = { ...lesson, reporter: new Reporter(new Meter(), post), pace: new Pace(lesson.session.training.pace), inside: null };
  profiledAt = 0;
  const { about, session, settings, program } = lesson;
  post({ type: 'network', about, name: program.name, weights: session.weights, settings, step: session.steps, isLoaded });
  if (asked !== 'cpu') post({ type: 'device', text: sayDevice(asked) });
  lesson.examiner.atRest?.();
  await look(shop);
  printer.flush();
}

/** Opens and closes views. Their code is loaded with the first one. */
async function look(place: Workshop): Promise<void> {
  if (place.inside === null && looked.length === 0) return;
  const { Inside } = await import('./inside/inside.ts');
  place.inside ??= new Inside(place.session, post);
  await place.inside.open(looked);
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

/** Does one slice of the comparison. */
async function compare(running: Comparison): Promise<void> {
  const begin = performance.now();
  do await running.advance();
  while (!running.isDone && performance.now() - begin < SLICE_MS);
  if (running.isDone) endComparison();
  else if (performance.now() - comparedAt > COMPARED_MS) reportComparison(false);
}

function close(lesson: Lesson | Workshop | null): void {
  if (lesson !== null && 'inside' in lesson) lesson.inside?.dispose();
  lesson?.examiner.dispose();
  lesson?.session.dispose();
  for (const made of lesson?.made ?? []) made.dispose();
}

async function open({ program, settings, device }: Extract<ToTrainer, { type: 'open' }>): Promise<void> {
  asked = device;
  await startLibrary();
  started = true;
  if (program === null) setPhase('failed');
  else await reset(program, settings);
  const kept = await saves.last();
  if (kept !== null) post({ type: 'kept', ...kept });
}

/** Reports what is wrong with a program. The program before it continues if it has the same text and only its settings were
 *  refused. */
function refuse(program: ProgramText, error: unknown): void {
  printer.flush();
  const isSame = shop !== null && shop.program.text === program.text;
  post({ type: 'problem', problem: problemOf(error), kept: isSame && shop !== null ? shop.settings : null });
  if (isSame) return setPhase('paused');
  close(shop);
  shop = null;
  setPhase('failed');
}

/** The new session is made before the old one goes: if it does not fit, the old one stays. */
async function reset(program: ProgramText, settings: Settings): Promise<void> {
  const running = phase === 'running';
  if (shop === null || shop.program.text !== program.text) setPhase('loading');
  let lesson: Lesson | null;
  try {
    lesson = await prepare(program, settings, surroundings());
  } catch (error) {
    return refuse(program, error);
  }
  const old = shop;
  if (lesson === null) {
    printer.flush();
    close(old);
    shop = null;
    setPhase('failed');
    return post({ type: 'ran' });
  }
  await take(lesson);
  close(old);
  setPhase(running ? 'running' : 'paused');
}

/** Makes the program once more with another rate, and takes only the rate from it. */
async function changeRate(place: Workshop, learningRate: number): Promise<void> {
  const settings = { ...place.settings, learningRate };
  const made = sn.scope();
  place.made.push(made);
  try {
    const { optimizer } = await place.module.make(settings, made);
    place.session.setLearningRate(optimizer.lr);
    // A schedule may still use tensors that were made with it.
    if (typeof optimizer.lr !== 'function') made.dispose();
    place.settings = settings;
    place.inside?.states?.note();
  } catch (error) {
    refuse(place.program, error);
  }
}

/** Makes a file of the state, and keeps it in this browser. */
async function save({ session, settings, program: { name } }: Workshop): Promise<void> {
  await session.bring();
  const { bytes, kept } = await saves.save({ settings: { ...settings, example: name }, ...session.saved });
  post({ type: 'saved', bytes, name, step: session.steps, kept }, [bytes.buffer]);
}

/** Makes a file of the parameters, named by their paths in the tree. */
async function saveWeights({ session, about, program: { name } }: Workshop): Promise<void> {
  await session.bring();
  const { params } = session.state;
  const tree = params instanceof sn.Tensor ? { params } : params;
  const bytes = sn.io.safetensors.encode(tree, { metadata: { about: about.text, step: String(session.steps) } });
  post({ type: 'weights', bytes, name, step: session.steps }, [bytes.buffer]);
}

/** Continues from a saved state with its settings. The program is the current one if it has the right name, otherwise that
 *  of the list. If anything fails, nothing changes. */
async function goOn(read: Reader): Promise<void> {
  let lesson: Lesson | null = null;
  try {
    const { example: name, ...settings } = await settingsOf(read);
    const program = shop?.program.name === name ? shop.program : { name, text: await textOf(name) };
    lesson = await prepare(program, settings, surroundings());
    if (lesson === null) throw new Error(`there is nothing to train in the program ${name}`);
    lesson.session.restore(await readRun(read, { settings: { ...lesson.settings, example: name }, ...lesson.session.saved }));
  } catch (error) {
    close(lesson);
    post({ type: 'refused', failure: describe(error) });
    return;
  }
  const old = shop;
  await take(lesson, true);
  close(old);
  if (phase === 'loading' || phase === 'failed') setPhase('paused');
  if (shop === null) return;
  shop.examiner.quick();
  shop.reporter.report(shop.session, true);
}

async function trainOnce({ session, reporter, cards, inside }: Workshop): Promise<void> {
  const begin = performance.now();
  const reading = await session.step();
  reporter.step(reading, performance.now() - begin);
  cards.step(session.steps, reading.loss);
  inside?.states?.stepped(reading.loss);
}

/** Trains until the budget is spent or an evaluation is due; returns the number of steps. */
async function slice(place: Workshop, budgetMs: number, maxSteps: number): Promise<number> {
  const begin = performance.now();
  const most = Math.min(maxSteps, place.inside?.states?.room ?? Infinity);
  let steps = 0;
  do {
    await trainOnce(place);
    steps++;
  } while (
    steps < most &&
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
    await session.bring();
    examiner.advance();
  } else if (session.steps > 0 && performance.now() - profiledAt >= PROFILE_EVERY_MS) {
    const profile = await profiler.measure(() => slice(place, PROFILE_MS, PROFILE_STEPS));
    reporter.flopsPerStep = profile.flops;
    post({ type: 'profile', profile });
    profiledAt = performance.now();
  } else {
    const steps = place.pace.due(performance.now());
    if (steps === 0) await rest(PACE_MS);
    else place.pace.done(await slice(place, SLICE_MS, steps));
    await show(place);
  }
  if (await lookInside(place)) await pause(place);
  reporter.meter.mark(performance.now());
  reporter.report(session, false);
  place.cards.check();
  printer.flush();
}

/** Returns whether a replay has reached its end. */
async function lookInside({ inside }: Workshop): Promise<boolean> {
  if (inside === null || !(inside.wantsToLook || inside.states?.isReplaying)) return false;
  return inside.look();
}

/** Takes training back to that step. */
async function rewind(place: Workshop, step: number): Promise<void> {
  const { session, examiner, reporter, inside } = place;
  if (phase === 'running') await pause(place);
  if (inside?.states === null || inside === null || !(await inside.states.rewind(step))) return;
  const { lr } = session.training.optimizer;
  const rate = typeof lr === 'number' ? lr : null;
  if (rate !== null && place.settings.learningRate !== undefined) place.settings = { ...place.settings, learningRate: rate };
  post({ type: 'rewound', step, rate });
  await session.bring();
  examiner.atRest?.();
  examiner.quick();
  await inside.look(true);
  reporter.report(session, true);
}

/** Shows what there is to see between slices. */
async function show({ session, examiner }: Workshop): Promise<void> {
  if (!examiner.wantsToShow) return;
  await session.bring();
  examiner.show(SHOW_MS);
}

async function stepOnce(place: Workshop): Promise<void> {
  const { session, examiner, reporter } = place;
  reporter.meter.resume(performance.now());
  await trainOnce(place);
  reporter.meter.mark(performance.now());
  reporter.meter.pause();
  await session.bring();
  examiner.quick();
  await show(place);
  await place.inside?.look(true);
  reporter.report(session, true);
  printer.flush();
}

/** Pauses training, and updates all views, so that they show the same step. */
async function pause(place: Workshop): Promise<void> {
  const { session, examiner, reporter, inside } = place;
  reporter.meter.pause();
  await session.bring();
  examiner.atRest?.();
  inside?.states?.stop();
  await inside?.look(true);
  reporter.report(session, true);
  setPhase('paused');
}

async function carryOut(command: ToTrainer): Promise<void> {
  if (command.type === 'open') return open(command);
  if (!started) return;
  if (command.type === 'reset') return reset(command.program, command.settings);
  if (command.type === 'load') return goOn(fromFile(command.file));
  if (command.type === 'continue') return goOn(saves.read);
  if (command.type === 'look') looked = command.views;
  if (shop === null) return;
  switch (command.type) {
    case 'start':
      endComparison();
      if (phase === 'paused') setPhase('running');
      break;
    case 'pause':
      if (phase === 'running') await pause(shop);
      break;
    case 'step':
      if (phase === 'paused') await stepOnce(shop);
      break;
    case 'learningRate':
      await changeRate(shop, command.value);
      break;
    case 'compare':
      endComparison();
      if (phase === 'running') await pause(shop);
      if (command.on) comparison = new Comparison(shop.session.training, shop.session.seed);
      reportComparison(false);
      break;
    case 'look':
      await look(shop);
      break;
    case 'rewind':
      endComparison();
      await rewind(shop, command.step);
      break;
    case 'replay':
      if (phase === 'paused' && shop.inside?.states?.begin()) setPhase('running');
      break;
    case 'save':
      await save(shop);
      break;
    case 'weights':
      await saveWeights(shop);
      break;
    case 'classify': {
      await shop.session.bring();
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

/** After an error, training pauses; the user may continue, change a setting or reset. An error in the program's text is
 *  shown there. */
function fail(error: unknown): void {
  endComparison();
  printer.flush();
  const problem = problemOf(error);
  const isLost = asked !== 'cpu' && error instanceof sn.WorkerError;
  if (isLost || problem.line === null) post({ type: 'failure', failure: describe(error), isLost });
  else post({ type: 'problem', problem, kept: null });
  if (shop !== null) {
    shop.reporter.meter.pause();
    setPhase('paused');
  }
}

/** Lets the page respond first. The meter pauses meanwhile; commands are read after a moment. */
async function giveWay(): Promise<void> {
  shop?.reporter.meter.pause();
  await rest(PACE_MS);
}

async function pump(): Promise<void> {
  if (pumping) return;
  pumping = true;
  while (inbox.length > 0 || phase === 'running' || comparison !== null) {
    try {
      const command = inbox.shift();
      if (command !== undefined) await carryOut(command);
      else if (performance.now() < givenWayUntil) await giveWay();
      else if (comparison !== null) await compare(comparison);
      else if (shop !== null) await train(shop);
    } catch (error) {
      fail(error);
    }
    if (inbox.length === 0) await breathe();
  }
  pumping = false;
}

watchLoading((received, total) => post({ type: 'loading', received, total }));

self.onmessage = (event: MessageEvent<ToTrainer>) => {
  if (event.data.type === 'ping') {
    post({ type: 'alive' });
    return;
  }
  if (event.data.type === 'giveWay') {
    givenWayUntil = performance.now() + GIVE_WAY_MS;
    return;
  }
  inbox.push(event.data);
  void pump();
};
