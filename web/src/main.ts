// The page: every message of the trainer goes to the views that show it, and every action of the user
// becomes a command. The two halves of the program meet only here.

import './style/tokens.css';
import './style/layout.css';
import './style/frame.css';
import './style/panels.css';
import { TrainerClient } from './state/client.ts';
import { History } from './state/history.ts';
import type { Evaluation, FromTrainer, Progress } from './state/protocol.ts';
import { EXAMPLES, isExample, type Example, type ExampleName } from './state/examples.ts';
import type { Settings } from './state/settings.ts';
import { AccuracyChart } from './views/accuracy-chart.ts';
import { CapabilitiesBadge } from './views/capabilities.ts';
import { Controls } from './views/controls.ts';
import { ExampleChoice } from './views/example-choice.ts';
import { DigitGrid } from './views/digits.ts';
import { download } from './views/download.ts';
import { element } from './views/dom.ts';
import { DrawPad } from './views/pad.ts';
import { FailureBar } from './views/failure-bar.ts';
import { count } from './views/format.ts';
import { bindKeys } from './views/keys.ts';
import { LossChart } from './views/loss-chart.ts';
import { OpTable } from './views/op-table.ts';
import { Places } from './views/places.ts';
import { PrecisionCard } from './views/precision.ts';
import { PredictionView } from './views/prediction.ts';
import { ProgramCard } from './views/program.ts';
import { SavesView } from './views/saves.ts';
import { Story } from './views/story.ts';
import { Tiles } from './views/tiles.ts';
import { WritingView } from './views/writing.ts';

const RECLASSIFY_MS = 250;

const history = new History();
const lossChart = new LossChart(history);
const accuracyChart = new AccuracyChart();
const tiles = new Tiles();
const badge = new CapabilitiesBadge();
const table = new OpTable();
const digits = new DigitGrid();
const prediction = new PredictionView();
const story = new Story();
const writing = new WritingView();
const failureBar = new FailureBar();
const saves = new SavesView({
  save: () => trainer.send({ type: 'save' }),
  load: (file) => trainer.send({ type: 'load', file }),
  goOn: () => trainer.send({ type: 'continue' }),
});
const program = new ProgramCard();
const precision = new PrecisionCard((on) => {
  controls.rest();
  trainer.send({ type: 'compare', on });
});
const traceButton = element<HTMLButtonElement>('trace');

// ?example=cnn opens that one.
const asked = new URLSearchParams(location.search).get('example');
const first = isExample(asked) ? asked : 'mlp';

const trainer = new TrainerClient(receive);
const controls = new Controls(first, {
  start: () => trainer.send({ type: 'start' }),
  pause: () => trainer.send({ type: 'pause' }),
  step: () => trainer.send({ type: 'step' }),
  reset: (settings) => trainer.send({ type: 'reset', settings }),
  learningRate: (value) => trainer.send({ type: 'learningRate', value }),
});

function showExample(example: ExampleName): void {
  window.history.replaceState(null, '', `?example=${example}${location.hash}`);
  program.show(example);
}

const examples = new ExampleChoice((example) => {
  showExample(example);
  controls.choose(example);
  controls.say(EXAMPLES[example].ready);
});
examples.show(first);
program.show(first);

const example = (): Example => EXAMPLES[controls.settings.example];

let drawn: Float32Array | null = null;
let classifiedAt = 0;

function classify(): void {
  if (drawn === null) return;
  classifiedAt = performance.now();
  trainer.send({ type: 'classify', pixels: drawn });
}

function clear(about: string, weights: number, step: number): void {
  const { chartLoss, chartTop, optimizer } = example();
  history.clear();
  lossChart.clear(chartLoss, step);
  accuracyChart.clear(chartTop, step);
  tiles.clear(example(), step);
  table.clear();
  digits.setPredictions(null);
  writing.clear();
  precision.clear();
  story.clear(about, weights, controls.settings.batch, optimizer);
  traceButton.disabled = true;
  classify();
}

/** What was loaded is trained now. */
function adopt(settings: Settings, step: number): void {
  showExample(settings.example);
  examples.show(settings.example);
  controls.adopt(settings);
  controls.say(`Loaded: ${example().title}, step ${count(step)}. Training goes on from there.`);
}

function showProgress(progress: Progress): void {
  const wasFinite = Number.isFinite(history.meanLoss ?? 0);
  const first = progress.step - progress.readings.length + 1;
  progress.readings.forEach((reading, i) => history.push(first + i, reading));
  lossChart.draw();
  tiles.progress(progress, history.meanLoss);
  if (wasFinite && !Number.isFinite(history.meanLoss ?? 0))
    controls.say('The loss is no longer a number: reset, and try a lower learning rate.', true);
  story.show(progress, controls.settings.batch, example().unit);
  // The network has learnt since then: look at the drawing again.
  if (performance.now() - classifiedAt > RECLASSIFY_MS) classify();
}

function showEvaluation(evaluation: Evaluation): void {
  tiles.evaluation(evaluation);
  accuracyChart.add(evaluation);
  if (evaluation.sample !== null) digits.setPredictions(evaluation.sample);
}

function receive(message: FromTrainer): void {
  switch (message.type) {
    case 'loading':
      controls.say(tiles.loading(message.received, message.total));
      break;
    case 'capabilities':
      badge.show(message.capabilities);
      break;
    case 'digits':
      digits.setSample(message.sample);
      break;
    case 'phase':
      controls.setPhase(message.phase);
      saves.ready = precision.ready = controls.ready;
      break;
    case 'network':
      if (message.isLoaded) adopt(message.settings, message.step);
      else if (!controls.ready) controls.say(example().ready);
      clear(message.about, message.weights, message.step);
      break;
    case 'saved':
      controls.say(saves.hand(message.bytes, controls.settings.example, message.step, message.kept));
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
      if (drawn !== null) prediction.show(message.values);
      break;
    case 'trace':
      download('sinter-trace.json', 'application/json', message.json);
      break;
    case 'failure':
      failureBar.show(message.failure);
      if (!controls.ready) controls.say('The playground could not start.', true);
      break;
  }
}

new DrawPad((pixels) => {
  drawn = pixels;
  if (pixels === null) prediction.clear();
  else classify();
});
const places = new Places({
  quiet: () => controls.rest(),
  fail: (message) =>
    failureBar.show({ name: 'LoadError', message, hint: 'Reload the page to try again.' }),
});
bindKeys({
  enabled: () => places.training,
  toggle: () => controls.toggle(),
  step: () => controls.stepOnce(),
});
traceButton.addEventListener('click', () => trainer.send({ type: 'trace' }));
trainer.send({
  type: 'open',
  mnistUrl: new URL('mnist/', document.baseURI).href,
  settings: controls.settings,
});
