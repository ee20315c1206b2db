// The page in one file: it trains its program between two frames, and shows loss, figures and pictures. It is bundled by
// web/build/offline.ts with the package inside, and asks for no other file.

import * as sn from 'sinter';
import '../style/tokens.css';
import '../style/frame.css';
import '../style/panels.css';
import '../style/offline.css';
import { describe } from '../compiler/workers/source.ts';
import { moduleOf } from '../program/workers/training.ts';
import { History } from '../state/history.ts';
import type { About, FromTrainer } from '../state/protocol.ts';
import { CheckedCards } from '../trainer/cards.ts';
import { DigitExaminer, isDigits } from '../trainer/digits.ts';
import { together, type Examiner } from '../trainer/examiner.ts';
import { OwnExaminer } from '../trainer/own.ts';
import { Pace } from '../trainer/pace.ts';
import { Session } from '../trainer/session.ts';
import { Chart } from '../views/chart.ts';
import { create, element, setText } from '../views/dom.ts';
import { count, percent, short } from '../views/format.ts';
import { OwnViews } from '../views/own.ts';
import type { Contents } from './contents.ts';
import * as playground from './data.ts';

/** Of a frame, so much is training. */
const SLICE_MS = 24;
const MARKS = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

const contents = JSON.parse(element('contents').textContent ?? '') as Contents;

document.body.insertAdjacentHTML('beforeend', `
<main class="offline">
  <header><h1>${'Sinter'}</h1> <strong id="title"></strong> <span class="muted" id="about"></span></header>
  <section class="card">
    <div class="buttons"><button type="button" class="primary" id="run" disabled>Start</button> <button type="button" id="again" disabled>Reset</button></div>
    <p id="said" role="status">Loading…</p>
    <div class="plot" id="loss-chart"></div>
  </section>
  <section class="card own" id="own" hidden><p class="figures" id="figures"></p><div class="drawings" id="drawings"></div></section>
  <details class="card"><summary>Program</summary><pre id="program"></pre></details>
  <section class="card muted" id="threads"></section>
</main>`);

const history = new History();
const own = new OwnViews();
const chart = new Chart(element('loss-chart'), {
  y: { distr: 3, range: (_, min, max) => [(min ?? 0.1) * 0.8, Math.max(max ?? 1, (min ?? 0.1) * 2) * 1.1] },
  marks: [MARKS],
  mark: short,
  value: short,
  lines: [
    { label: 'batch', colour: '--faint', width: 1, points: false },
    { label: 'mean', colour: '--loss', width: 2, points: false },
  ],
});

interface Running {
  session: Session;
  examiner: Examiner;
  pace: Pace;
}

let running: Running | null = null;
let isOn = false;
let accuracy = '';

function say(problem?: unknown): void {
  const line = element('said');
  line.classList.toggle('problem', problem !== undefined);
  if (problem !== undefined) {
    const { name, message, line: at } = describe(problem);
    setText(line, `${at === null ? '' : `Line ${at}: `}${name}: ${message}`);
    return;
  }
  const { steps } = running?.session ?? { steps: 0 };
  line.dataset.step = String(steps);
  setText(line, `Step ${count(steps)}${history.meanLoss === null ? '' : `, loss ${short(history.meanLoss)}`}${accuracy}`);
}

function receive(message: FromTrainer): void {
  if (message.type === 'views') own.show(message.drawings);
  if (message.type === 'figures') own.showFigures(message.values);
  if (message.type === 'evaluation') accuracy = `, ${percent(message.evaluation.accuracy)} right`;
}

/** Runs the text: what it exports. */
function exportsOf(code: string): Record<string, unknown> {
  const modules: Record<string, object> = { sinter: sn, playground };
  const require = (name: string): object => ({ __esModule: true, ...modules[name] });
  const text = `"use strict";${code}\n;return exports;\n//# sourceURL=program.js`;
  return (new Function('sn', 'require', 'exports', text) as (...given: unknown[]) => Record<string, unknown>)(sn, require, {});
}

async function make(): Promise<void> {
  const module = moduleOf(exportsOf(contents.code));
  const settings = { ...module.settings, ...contents.settings };
  const training = await module.make(settings);
  const session = new Session(training, settings.seed ?? 0);
  await session.rehearse();
  const cards = new CheckedCards([], receive);
  const { data, predict } = training;
  const examiners: Examiner[] = [new OwnExaminer(session, cards, receive)];
  if (predict !== null && isDigits(data)) examiners.push(new DigitExaminer(session, predict, data, receive));
  setText(element('about'), training.about);
  own.clear({ views: training.views.map(({ kind, title }) => ({ kind, title })) } as About);
  const examiner = together(examiners);
  examiner.rehearse();
  examiner.atRest?.();
  running?.examiner.dispose();
  running?.session.dispose();
  running = { session, examiner, pace: new Pace(training.pace) };
  history.clear();
  accuracy = '';
  chart.begin(0);
  draw();
}

function draw(): void {
  chart.show([history.steps, history.loss, history.mean]);
  say();
}

/** A part of the training, and what there is to see. */
async function turn({ session, examiner, pace }: Running): Promise<void> {
  const begin = performance.now();
  let room = pace.due(begin);
  while (room-- > 0 && performance.now() - begin < SLICE_MS && !examiner.due) {
    history.push(session.steps + 1, await session.step());
    pace.done(1);
  }
  if (examiner.due) examiner.advance();
  else if (examiner.wantsToShow) examiner.show(SLICE_MS / 2);
  draw();
}

async function train(): Promise<void> {
  while (isOn && running !== null) {
    try {
      await turn(running);
    } catch (error) {
      setOn(false);
      return say(error);
    }
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

function setOn(on: boolean): void {
  isOn = on;
  setText(element('run'), on ? 'Pause' : 'Start');
}

/** Why one thread, what it costs, and what mends it. */
function sayThreads(): void {
  const cores = navigator.hardwareConcurrency;
  const cost = cores > 1 ? `One of ${cores} cores trains here, beside the page itself: large products of matrices take up to ${cores} times as long as on all of them.` : 'This machine has one core: nothing is lost.';
  element('threads').replaceChildren(
    create('p', '', `This page is one file, with the package inside; it needs no network. It runs on one thread, as a file shares no memory between threads. ${cost}`),
    create('p', '', 'On a server that sends these two headers, the package itself, or the playground, trains on all cores:'),
    create('pre', '', 'Cross-Origin-Opener-Policy: same-origin\nCross-Origin-Embedder-Policy: require-corp'),
    create('p', '', `Made by ${contents.address}`),
  );
}

async function start(): Promise<void> {
  document.title = `${contents.title} - Sinter`;
  setText(element('title'), contents.title);
  setText(element('program'), contents.text);
  sayThreads();
  const [run, again] = ['run', 'again'].map((id) => element<HTMLButtonElement>(id));
  run.addEventListener('click', () => {
    setOn(!isOn);
    if (isOn) void train();
  });
  again.addEventListener('click', () => {
    setOn(false);
    void make().catch(say);
  });
  try {
    await sn.init();
    await make();
    run.disabled = again.disabled = false;
  } catch (error) {
    say(error);
  }
}

void start();
