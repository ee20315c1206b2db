// The trainer: an actor. Commands wait in an inbox and are carried out only between steps, so
// nothing ever changes under a running program. While training it works in slices of about
// 30 ms and then lets the inbox fill; it reports at most 8 times a second.

import * as sn from 'sinter';
import type { Failure, FromTrainer, Phase, ToTrainer } from '../state/protocol.ts';
import { Evaluator } from './evaluator.ts';
import { loadMnist, type Mnist } from './mnist.ts';
import { Meter } from './meter.ts';
import { Profiler } from './profiler.ts';
import { Reporter } from './reporter.ts';
import { Session } from './session.ts';

declare const self: DedicatedWorkerGlobalScope;

const SLICE_MS = 30;
const LOADING_REPORT_MS = 50;
const PROFILE_EVERY_MS = 2000;
const PROFILE_STEPS = 20;
const PROFILE_MS = 60;

/** What exists once the library and the data are loaded. */
interface Workshop {
  data: Mnist;
  session: Session;
  evaluator: Evaluator;
  reporter: Reporter;
}

const inbox: ToTrainer[] = [];
const profiler = new Profiler();
let shop: Workshop | null = null;
let phase: Phase = 'loading';
let pumping = false;
let profiledAt = 0;

function post(message: FromTrainer): void {
  self.postMessage(message);
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

function loadData(folder: string, signal: AbortSignal): Promise<Mnist> {
  let reportedAt = 0;
  return loadMnist(folder, signal, (received, total) => {
    const now = performance.now();
    if (now - reportedAt < LOADING_REPORT_MS) return;
    reportedAt = now;
    post({ type: 'loading', received, total });
  });
}

async function open(command: Extract<ToTrainer, { type: 'open' }>): Promise<void> {
  const abort = new AbortController();
  try {
    const [data] = await Promise.all([loadData(command.dataUrl, abort.signal), startLibrary()]);
    const session = new Session(data, command.settings);
    const evaluator = new Evaluator(data.test, post);
    evaluator.rehearse(session);
    shop = { data, session, evaluator, reporter: new Reporter(new Meter(), post) };
    post({ type: 'ready', sample: evaluator.sample() });
    setPhase('paused');
  } catch (error) {
    abort.abort();
    throw error;
  }
}

/** The new network is made before the old one goes: if it does not fit, the old one stays. */
function reset(place: Workshop, command: Extract<ToTrainer, { type: 'reset' }>): void {
  const session = new Session(place.data, command.settings);
  place.evaluator.rehearse(session);
  place.session.dispose();
  place.session = session;
  place.reporter = new Reporter(new Meter(), post);
  place.evaluator.reset();
  post({ type: 'fresh' });
}

function trainOnce({ session, reporter }: Workshop): void {
  const begin = performance.now();
  const loss = session.step();
  reporter.step(loss, performance.now() - begin);
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
    !place.evaluator.due(place.session) &&
    performance.now() - begin < budgetMs
  );
  return steps;
}

/** One turn of training: a part of an evaluation, some measured steps, or a slice of steps. */
async function train(place: Workshop): Promise<void> {
  const { session, evaluator, reporter } = place;
  reporter.meter.resume(performance.now());
  if (evaluator.due(session)) {
    evaluator.advance(session);
  } else if (session.steps > 0 && performance.now() - profiledAt >= PROFILE_EVERY_MS) {
    const profile = await profiler.measure(() => slice(place, PROFILE_MS, PROFILE_STEPS));
    post({ type: 'profile', profile });
    profiledAt = performance.now();
  } else {
    slice(place, SLICE_MS, Infinity);
  }
  reporter.meter.mark(performance.now());
  reporter.report(session, false);
}

function stepOnce(place: Workshop): void {
  const { session, evaluator, reporter } = place;
  reporter.meter.resume(performance.now());
  trainOnce(place);
  reporter.meter.mark(performance.now());
  reporter.meter.pause();
  evaluator.quick(session);
  reporter.report(session, true);
}

function pause(place: Workshop): void {
  place.reporter.meter.pause();
  place.reporter.report(place.session, true);
  setPhase('paused');
}

async function carryOut(command: ToTrainer): Promise<void> {
  if (command.type === 'open') return open(command);
  if (shop === null) return;
  switch (command.type) {
    case 'start':
      if (phase === 'paused') setPhase('running');
      break;
    case 'pause':
      if (phase === 'running') pause(shop);
      break;
    case 'step':
      if (phase === 'paused') stepOnce(shop);
      break;
    case 'reset':
      reset(shop, command);
      break;
    case 'learningRate':
      shop.session.setLearningRate(command.value);
      break;
    case 'classify':
      post({ type: 'probabilities', values: shop.session.probabilities(command.pixels) });
      break;
    case 'trace': {
      const json = profiler.traceJson();
      if (json !== null) post({ type: 'trace', json });
      break;
    }
  }
}

/** After an error training stands still; the user may go on, change a setting or reset. */
function fail(error: unknown): void {
  post({ type: 'failure', failure: describe(error) });
  if (shop !== null) {
    shop.reporter.meter.pause();
    setPhase('paused');
  }
}

async function pump(): Promise<void> {
  if (pumping) return;
  pumping = true;
  while (inbox.length > 0 || phase === 'running') {
    try {
      const command = inbox.shift();
      if (command !== undefined) await carryOut(command);
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
