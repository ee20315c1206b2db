// The page: messages of the trainer go to the views that show them, and actions of the user become commands. The two halves of
// the program meet only here.
//
// The views are created in several tasks, so that none blocks the page for long. Nothing reaches them meanwhile: the trainer
// sends nothing before it is asked (except that it cannot be loaded, which the first views show), and `main` is inert.

import './style/tokens.css';
import './style/layout.css';
import './style/frame.css';
import './style/panels.css';
import type { DigitCards } from './digit/cards.ts';
import { TrainerClient } from './state/client.ts';
import type { RunOf } from './inside/runs.ts';
import { History } from './state/history.ts';
import type { About, DigitSample, Evaluation, FromTrainer, Phase, Progress, ProgramText } from './state/protocol.ts';
import type { Settings } from './state/settings.ts';
import { WORDS, type Words } from './state/words.ts';
import { askedSettings, brought, documented, packedIn } from './program/address.ts';
import { FIRST, entry } from './program/list.ts';
import { shown, type Change, type ShownProgram } from './program/shown.ts';
import { AccuracyChart } from './views/accuracy-chart.ts';
import { CapabilitiesBadge } from './views/capabilities.ts';
import { Controls } from './views/controls.ts';
import { ExampleChoice } from './views/example-choice.ts';
import { download } from './views/download.ts';
import { changeQuery, element, setText } from './views/dom.ts';
import { FailureBar } from './views/failure-bar.ts';
import { beginningOf, count } from './views/format.ts';
import { InsideSwitch } from './views/inside-switch.ts';
import { bindKeys } from './views/keys.ts';
import { nextTask } from './views/tasks.ts';
import { LessonCard } from './views/lesson.ts';
import { LossChart } from './views/loss-chart.ts';
import { OpTable } from './views/op-table.ts';
import { OwnViews } from './views/own.ts';
import { Pictures } from './views/pictures.ts';
import { Places } from './views/places.ts';
import { PrecisionCard } from './views/precision.ts';
import { SavesView } from './views/saves.ts';
import { ShareBox } from './views/share.ts';
import { SourceCard } from './views/source.ts';
import { Story } from './views/story.ts';
import { Tiles } from './views/tiles.ts';
import { TrainedOnSwitch } from './views/trained-on.ts';
import { WritingView } from './views/writing.ts';

/** The state of the trainer. */
let phase: Phase = 'loading';
/** The program that the trainer has, or is making. */
let made: ProgramText | null = null;
let opened = false;
/** The graphics processor was lost with everything on it: the next program is made by another worker, on a new device. */
let isLost = false;
/** The name of a program whose state was loaded: it exists already when it is shown. */
let loaded = '';
/** What the page shows about the program that is trained. */
let about: About | null = null;

let sample: DigitSample | null = null;
let lastEvaluation: Evaluation | null = null;

await nextTask(); // everything imported is evaluated, and the document is parsed
const failureBar = new FailureBar();
const controls = new Controls({
  start: () => trainer.send({ type: 'start' }),
  pause: () => trainer.send({ type: 'pause' }),
  step: () => trainer.send({ type: 'step' }),
  reset: () => {
    shown.trust();
    train(true);
  },
  change: (changed) => {
    shown.set({ ...shown.program?.settings, ...changed });
    train(true);
  },
  learningRate: (value) => {
    shown.set({ ...shown.program?.settings, learningRate: value });
    trainer.send({ type: 'learningRate', value });
    inside.opened?.change(run());
  },
  end: () => trainer.end(),
});

await nextTask();
const trainer = new TrainerClient({ receive, busy: showBusy, ended: showEnded });

for (const type of ['pointerdown', 'pointerup', 'keydown']) document.addEventListener(type, () => trainer.giveWay(), { capture: true, passive: true });

await nextTask();
const history = new History();
const lossChart = new LossChart(history);
const accuracyChart = new AccuracyChart();

await nextTask();
const tiles = new Tiles();
const badge = new CapabilitiesBadge();
const table = new OpTable();

await nextTask();
const story = new Story();
const writing = new WritingView();

await nextTask();
const saves = new SavesView({
  save: () => trainer.send({ type: 'save' }),
  load: (file) => trainer.send({ type: 'load', file }),
  goOn: () => trainer.send({ type: 'continue' }),
});
const own = new OwnViews();
const lesson = new LessonCard();
const source = new SourceCard(() => {
  if (places.training) train();
});
const precision = new PrecisionCard((on) => {
  controls.rest();
  trainer.send({ type: 'compare', on });
});
const trainedOn = new TrainedOnSwitch(() => {
  if (!opened) return;
  renew();
  train(true);
});
const traceButton = element<HTMLButtonElement>('trace');

const inside = new InsideSwitch(
  async (root) => {
    const { InsideCard } = await import('./inside/card.ts');
    return new InsideCard(
      root,
      {
        look: (views) => trainer.send({ type: 'look', views }),
        rewind: (step) => {
          controls.rest();
          trainer.send({ type: 'rewind', step });
        },
        replay: () => trainer.send({ type: 'replay' }),
      },
      { history, run: run(), phase, digits: digitsShown(), evaluation: lastEvaluation },
    );
  },
  (error) => failureBar.show({ name: 'LoadError', message: `the views could not be loaded: ${String(error)}`, hint: 'Try again.' }),
);

const digitsShown = (): DigitSample | null => (about?.data === 'digits' ? sample : null);
/** The trained run, to compare with another one. */
const run = (): RunOf => ({ name: made?.name ?? '', title: shown.entry.title, text: made?.text ?? '', settings: controls.settings });

// Code that is loaded on demand could not be loaded. It is requested again when it is next needed.
addEventListener('vite:preloadError', ({ payload }) =>
  failureBar.show({ name: 'LoadError', message: `a part of the page could not be loaded: ${payload.message}`, hint: 'Try again.' }));

const words = (): Words => WORDS[about?.data ?? 'own'];

/** Replaces the worker, so that another one makes the next program. */
function renew(): void {
  trainer.renew();
  opened = isLost = false;
  controls.canEnd = false;
  controls.setPhase('loading');
}

/** Makes the shown program, unless the trainer has it already. anew: makes it in any case. */
function train(anew = false): void {
  const { program } = shown;
  if (program === null || (!anew && made?.text === program.text)) return;
  const { name, text, settings, isChanged, isTrusted } = program;
  if (isLost) renew();
  source.show(null);
  source.clearLog();
  const canLearn = isTrusted && (shown.entry.learns || isChanged);
  made = canLearn ? { name, text } : null;
  if (!canLearn) {
    controls.rest();
    controls.setPhase('failed');
    controls.say(isTrusted ? `${shown.entry.title} is a program to look at, in the Compiler tab.` : 'Not run yet.');
  }
  if (!opened) trainer.send({ type: 'open', program: made, settings, device: trainedOn.value });
  else if (made !== null) trainer.send({ type: 'reset', program: made, settings });
  opened = true;
}

/** Writes the shown program to the address. A text or settings in it are removed, because they belong to another program. */
function writeAddress(name: string): void {
  const hash = location.hash.slice(1).split('&').filter((part) => !part.startsWith('program=')).join('&');
  changeQuery((query) => {
    query.set('example', name);
    query.delete('set');
    query.delete('doc');
  }, hash === '' ? '' : `#${hash}`);
}

function showProgram({ name, isTrusted }: ShownProgram, change: Change): void {
  if (opened && isTrusted && change !== 'trusted') writeAddress(name);
  document.body.dataset.example = name;
  setText(element('purpose'), shown.entry.purpose);
  element('brought').hidden = isTrusted;
  examples.show(name);
}

const examples = new ExampleChoice((name) => {
  controls.rest();
  shown.choose(name).catch(() => undefined); // said above, like all failures to load
});

function showBusy(seconds: number): void {
  controls.canEnd = seconds > 0;
  if (seconds > 0) controls.say(`The program has not answered for ${Math.round(seconds)} s. It may be a loop that never ends.`, true);
  else if (controls.ready) controls.say('The program answers again.');
}

function showEnded(): void {
  made = null;
  controls.canEnd = false;
  trainer.send({ type: 'open', program: null, settings: {}, device: trainedOn.value });
  controls.setPhase('failed');
  controls.say('The program was ended. Change it, or press Reset to run it once more.', true);
}

let digits: Promise<DigitCards> | null = null;

/** Calls act with the cards of digits, in the order of the calls; before the first digits there are none, and nothing
 *  happens. */
function withDigits(act: (cards: DigitCards) => void): void {
  void digits?.then(act, () => undefined); // showDigits reports why they could not be loaded
}

function showDigits(shownSample: DigitSample): void {
  sample = shownSample;
  digits ??= import('./digit/cards.ts').then(({ DigitCards }) => new DigitCards((pixels) => trainer.send({ type: 'classify', pixels })));
  digits.then((cards) => cards.setSample(shownSample), (error: unknown) => {
    digits = null;
    failureBar.show({ name: 'LoadError', message: `the cards of digits could not be loaded: ${String(error)}`, hint: 'Reset tries again.' });
  });
}

/** Called for another program, or for the same one from its beginning. */
function clear(weights: number, step: number): void {
  const { chartLoss, chartTop, sample: tested } = words();
  lastEvaluation = null;
  inside.opened?.adopt(run(), digitsShown(), step);
  history.clear();
  lossChart.clear(chartLoss, step);
  accuracyChart.clear(chartTop, step);
  tiles.clear(words(), step, about?.hasAccuracy ?? true);
  setText(element('accuracy-sample'), tested);
  element('accuracy-whole').hidden = about?.data !== 'digits';
  table.clear();
  withDigits((cards) => cards.clear());
  writing.clear();
  precision.clear();
  story.clear(about?.text ?? '', weights, controls.settings.batch);
  traceButton.disabled = true;
}

/** Shows the program of a loaded state, which exists already. Only then does the page report that it is loaded. */
async function showLoaded(name: string, settings: Settings, step: number): Promise<void> {
  if (shown.program?.name === name) shown.set(settings);
  else {
    loaded = name;
    await shown.choose(name, settings);
  }
  controls.say(`Loaded: ${entry(name)?.title ?? name}, step ${count(step)}. Training goes on from there.`);
}

function adopt({ about: told, name, weights, settings, step, isLoaded }: Extract<FromTrainer, { type: 'network' }>): void {
  about = told;
  document.body.dataset.data = told.data;
  document.body.dataset.accuracy = String(told.hasAccuracy);
  if (isLoaded) void showLoaded(name, settings, step);
  else if (!controls.ready) controls.say(words().ready);
  controls.adopt(settings, told.labels);
  failureBar.settle();
  source.show(null);
  lesson.show(name, told.cards);
  own.clear(told);
  clear(weights, step);
}

/** Shows that a program does not run, or refuses settings. */
function showProblem({ problem, kept }: Extract<FromTrainer, { type: 'problem' }>): void {
  if (kept !== null) {
    shown.set(kept);
    controls.refuse(problem.message, kept);
    return;
  }
  source.show(problem);
  failureBar.show(problem, true);
  controls.say('The program does not run: what is wrong stands below it.', true);
}

function showProgress(progress: Progress): void {
  const wasFinite = Number.isFinite(history.meanLoss ?? 0);
  const first = progress.step - progress.readings.length + 1;
  progress.readings.forEach((reading, i) => history.push(first + i, reading));
  lossChart.draw();
  tiles.progress(progress, history.meanLoss);
  inside.opened?.progress(progress);
  if (wasFinite && !Number.isFinite(history.meanLoss ?? 0))
    controls.say('The loss is no longer a number: reset, and try a lower learning rate.', true);
  story.show(progress, controls.settings.batch, words().unit);
  withDigits((cards) => cards.learnt());
}

function showEvaluation(evaluation: Evaluation): void {
  lastEvaluation = evaluation;
  inside.opened?.evaluated(evaluation);
  tiles.evaluation(evaluation);
  accuracyChart.add(evaluation);
  const { sample: predicted } = evaluation;
  if (predicted !== null) withDigits((cards) => cards.setPredictions(predicted));
}

/** Training was set back to an earlier step. */
function goBack(step: number, rate: number | null): void {
  history.cut(step);
  lossChart.draw();
  accuracyChart.cut(step);
  if (rate !== null) controls.showRate(rate);
  inside.opened?.change(run());
  controls.say(`Back at step ${count(step)}.`);
}

function receive(message: FromTrainer): void {
  switch (message.type) {
    case 'loading':
      controls.say(tiles.loading(message.received, message.total));
      break;
    case 'capabilities':
      badge.show(message.capabilities);
      break;
    case 'device':
      trainedOn.say(message.text);
      break;
    case 'digits':
      showDigits(message.sample);
      break;
    case 'phase':
      phase = message.phase;
      controls.setPhase(phase);
      inside.opened?.follow(phase);
      saves.ready = precision.ready = controls.ready;
      break;
    case 'network':
      adopt(message);
      break;
    case 'problem':
      showProblem(message);
      break;
    case 'ran':
      document.body.dataset.data = 'none';
      setText(element('purpose'), 'A program that runs and prints.');
      examples.show('');
      source.show(null);
      controls.say('The program has run to its end. Change it, and it runs again.');
      break;
    case 'printed':
      source.print(message.lines, message.more);
      break;
    case 'figures':
      own.showFigures(message.values);
      break;
    case 'views':
      own.show(message.drawings);
      break;
    case 'lesson':
      lesson.pass(message.passed);
      break;
    case 'saved':
      controls.say(saves.hand(message.bytes, message.name, message.step, message.kept));
      break;
    case 'weights':
      download(`sinter-${message.name}-weights.safetensors`, 'application/octet-stream', message.bytes);
      share.say(`Saved the parameters of step ${count(message.step)}.`);
      break;
    case 'kept':
      saves.offer(message.example, message.step);
      break;
    case 'refused':
      failureBar.show(message.failure);
      controls.say('That was not loaded. Training is as it was.', true);
      break;
    case 'writing':
      writing.show(message.text, message.step, message.done);
      break;
    case 'progress':
      showProgress(message.progress);
      break;
    case 'evaluation':
      showEvaluation(message.evaluation);
      break;
    case 'profile':
      table.show(message.profile);
      story.setKernels(message.profile.kernels.reduce((sum, { calls }) => sum + calls, 0));
      traceButton.disabled = false;
      break;
    case 'comparison':
      precision.show(message.report);
      break;
    case 'probabilities':
      withDigits((cards) => cards.answered(message.values));
      break;
    case 'trace':
      download('sinter-trace.json', 'application/json', message.json);
      break;
    case 'layers':
    case 'confusion':
    case 'kept-states':
    case 'not-looked':
      inside.opened?.receive(message);
      break;
    case 'rewound':
      goBack(message.step, message.rate);
      break;
    case 'failure':
      failureBar.show(message.failure);
      isLost ||= message.isLost === true;
      if (isLost) controls.say('The graphics processor was lost, and what was learnt on it. Reset begins anew with another one.', true);
      if (!controls.ready) controls.say('The playground could not start.', true);
      break;
  }
}

const sayOfAddress = (error: unknown): void =>
  failureBar.show({ name: 'Address', message: error instanceof Error ? error.message : String(error), hint: '' });

await nextTask();
const places: Places = new Places({
  address: sayOfAddress,
  quiet: () => controls.rest(),
  training: () => train(),
  fail: (message) =>
    failureBar.show({ name: 'LoadError', message, hint: 'Reload the page to try again.' }),
});
bindKeys({
  enabled: () => places.training,
  toggle: () => controls.toggle(),
  step: () => controls.stepOnce(),
});
traceButton.addEventListener('click', () => trainer.send({ type: 'trace' }));

// ?example=cnn opens the program cnn.
const asked = new URLSearchParams(location.search).get('example') ?? FIRST;
shown.subscribe((program, change) => {
  if (change === 'settings') return;
  showProgram(program, change);
  if (loaded === program.name && change === 'chosen') made = { name: program.name, text: program.text };
  else if (change === 'chosen' && (places.training || !opened)) train(made !== null);
  else if (change === 'trusted' && places.training) train();
  else if (change !== 'edited') controls.rest();
  loaded = '';
});
element('trust').addEventListener('click', () => shown.trust());
new Pictures();
const share = new ShareBox({ place: () => places.current, weights: () => trainer.send({ type: 'weights' }), history, run });
document.body.toggleAttribute('data-embed', new URLSearchParams(location.search).has('embed'));

/** Shows the program in the address, if there is one. It waits for permission to run. */
async function open(): Promise<boolean> {
  const given = await brought();
  if (given !== null) shown.bring({ ...given, isTrusted: false });
  return given !== null;
}

/** Shows what the address asks for. If the address is wrong, says so and begins with a program of the list. */
async function begin(): Promise<void> {
  const name = entry(asked) === null ? FIRST : asked;
  const kept = window.history.state as ShownProgram | null;
  if (kept !== null) return shown.bring(kept);
  try {
    const text = await documented();
    if (text !== null) return shown.bring({ name: FIRST, text, settings: {}, isTrusted: true });
    if (await open()) return;
    await shown.choose(name, askedSettings());
    if (name !== asked) throw new Error(`there is no program ${beginningOf(asked)}; this is ${shown.entry.title}`);
  } catch (error) {
    sayOfAddress(error);
    if (shown.program === null) await shown.choose(name);
  }
}

// If a link with a program is entered in the address bar, the page is not loaded again.
addEventListener('hashchange', ({ oldURL, newURL }) => {
  if (packedIn(newURL) !== packedIn(oldURL)) open().catch(sayOfAddress);
});
// A changed text survives a reload of the page, but not another visit to the same address.
addEventListener('beforeunload', () => window.history.replaceState(shown.program?.isChanged === true ? shown.program : null, ''));
await nextTask();
void begin().finally(() => {
  element('main').inert = false;
});
