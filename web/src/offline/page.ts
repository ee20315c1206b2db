// The visible half: loss, figures and pictures of the program in the file, which a worker trains.

import '../style/tokens.css';
import '../style/frame.css';
import '../style/panels.css';
import '../style/offline.css';
import type { Problem } from '../compiler/protocol.ts';
import { History } from '../state/history.ts';
import type { About } from '../state/protocol.ts';
import { Chart } from '../views/chart.ts';
import { create, element, perFrame, setText } from '../views/dom.ts';
import { count, percent, short } from '../views/format.ts';
import { OwnViews } from '../views/own.ts';
import { DATA_IDS, type Contents, type FromOffline, type Packed, type ToOffline } from './contents.ts';
import { OfflineTrainer } from './trainer.ts';

const MARKS = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

const PAGE = `
<main class="offline">
  <header><h1>Sinter</h1> <strong id="title"></strong> <span class="muted" id="about"></span></header>
  <section class="card">
    <div class="buttons"><button type="button" class="primary" id="run" disabled>Start</button> <button type="button" id="again" disabled>Reset</button></div>
    <p id="said" role="status">Loading…</p>
    <div class="plot" id="loss-chart"></div>
  </section>
  <section class="card own" id="own" hidden><p class="figures" id="figures"></p><div class="drawings" id="drawings"></div></section>
  <details class="card"><summary>Program</summary><pre id="program"></pre></details>
  <section class="card muted" id="threads"></section>
</main>`;

/** Where training runs: in a worker or in the page. */
interface Place {
  isWorker: boolean;
  send(message: ToOffline): void;
  end(): void;
}

function inPage(receive: (message: FromOffline) => void): Place {
  const trainer = new OfflineTrainer(receive, () => new Promise((resolve) => requestAnimationFrame(resolve)));
  return { isWorker: false, send: (message) => void trainer.receive(message), end: () => trainer.dispose() };
}

/** A worker with this same script. null if the browser does not allow a worker from a file. */
function inWorker(script: string, receive: (message: FromOffline) => void, refused: () => void): Place | null {
  try {
    const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    const worker = new Worker(address);
    let answers = false;
    worker.addEventListener('message', ({ data }: MessageEvent<FromOffline>) => {
      answers = true;
      receive(data);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      if (!answers) refused();
    });
    return {
      isWorker: true,
      send: (message) => worker.postMessage(message),
      end: () => {
        worker.terminate();
        URL.revokeObjectURL(address);
      },
    };
  } catch {
    return null;
  }
}

class OfflinePage {
  private readonly contents = JSON.parse(element('contents').textContent ?? '') as Contents;
  private readonly packed: Packed = Object.fromEntries(Object.values(DATA_IDS).map((id) => [id, document.getElementById(id)?.textContent ?? '']));
  private readonly history = new History();
  private readonly own = new OwnViews();
  private readonly chart = new Chart(element('loss-chart'), {
    y: { distr: 3, range: (_, min, max) => [(min ?? 0.1) * 0.8, Math.max(max ?? 1, (min ?? 0.1) * 2) * 1.1] },
    marks: [MARKS],
    mark: short,
    value: short,
    lines: [
      { label: 'batch', colour: '--faint', width: 1, points: false },
      { label: 'mean', colour: '--loss', width: 2, points: false },
    ],
  });
  private readonly runButton = element<HTMLButtonElement>('run');
  private place: Place | null = null;
  private isOn = false;
  private steps = 0;
  private accuracy = '';
  private readonly draw = perFrame(() => {
    const { steps, loss, mean } = this.history;
    this.chart.show([steps, loss, mean]);
  });

  constructor(private readonly script: string) {
    document.title = `${this.contents.title} - Sinter`;
    setText(element('title'), this.contents.title);
    setText(element('program'), this.contents.text);
    this.runButton.addEventListener('click', () => this.setOn(!this.isOn));
    const again = element<HTMLButtonElement>('again');
    again.addEventListener('click', () => this.begin(this.place?.isWorker === false));
    again.disabled = false;
    this.begin(false);
  }

  /** Starts from the first step, in a new worker, so that a program that never ends is stopped. isRefused: no worker is
   *  possible here. */
  private begin(isRefused: boolean): void {
    const receive = (message: FromOffline): void => this.receive(message);
    this.place?.end();
    this.show(false);
    this.runButton.disabled = true;
    setText(element('said'), 'Loading…');
    this.place = (isRefused ? null : inWorker(this.script, receive, () => this.begin(true))) ?? inPage(receive);
    this.sayThreads(this.place.isWorker);
    this.place.send({ type: 'open', contents: this.contents, packed: this.packed });
  }

  private setOn(on: boolean): void {
    this.place?.send({ type: 'run', on });
    this.show(on);
  }

  private show(on: boolean): void {
    this.isOn = on;
    setText(this.runButton, on ? 'Pause' : 'Start');
  }

  private receive(message: FromOffline): void {
    switch (message.type) {
      case 'made':
        setText(element('about'), message.about);
        this.own.clear({ views: message.views } as About);
        this.history.clear();
        this.steps = 0;
        this.accuracy = '';
        this.chart.begin(0);
        this.draw();
        this.runButton.disabled = false;
        break;
      case 'trained':
        message.readings.forEach((reading, i) => this.history.push(message.step - message.readings.length + 1 + i, reading));
        this.steps = message.step;
        this.draw();
        break;
      case 'failed':
        this.show(false);
        return this.sayProblem(message.problem);
      case 'views':
        return this.own.show(message.drawings);
      case 'figures':
        return this.own.showFigures(message.values);
      case 'evaluation':
        this.accuracy = `, ${percent(message.evaluation.accuracy)} right`;
        break;
    }
    this.say();
  }

  private say(): void {
    const line = element('said');
    const { meanLoss } = this.history;
    line.classList.remove('problem');
    line.dataset.step = String(this.steps);
    setText(line, `Step ${count(this.steps)}${meanLoss === null ? '' : `, loss ${short(meanLoss)}`}${this.accuracy}`);
  }

  private sayProblem({ name, message, line: at }: Problem): void {
    const line = element('said');
    line.classList.add('problem');
    setText(line, `${at === null ? '' : `Line ${at}: `}${name}: ${message}`);
  }

  /** Says why there is one thread, what that costs, and how to get more. */
  private sayThreads(isWorker: boolean): void {
    const cores = navigator.hardwareConcurrency;
    const where = isWorker ? 'in a worker beside the page' : 'in the page itself';
    const cost = cores > 1 ? `One of ${cores} cores trains here, ${where}: large products of matrices take up to ${cores} times as long as on all of them.` : `This machine has one core: nothing is lost. It trains ${where}.`;
    const box = element('threads');
    box.dataset.place = isWorker ? 'worker' : 'page';
    box.replaceChildren(
      create('p', '', `This page is one file, with the package inside; it needs no network. It runs on one thread, as a file shares no memory between threads. ${cost}`),
      create('p', '', 'On a server that sends these two headers, the package itself, or the playground, trains on all cores:'),
      create('pre', '', 'Cross-Origin-Opener-Policy: same-origin\nCross-Origin-Embedder-Policy: require-corp'),
      create('p', '', `Made by ${this.contents.address}`),
    );
  }
}

export function openPage(): void {
  const script = document.querySelector('script:not([type="application/json"], [type="text/plain"])')?.textContent ?? '';
  document.body.insertAdjacentHTML('beforeend', PAGE);
  new OfflinePage(script);
}
