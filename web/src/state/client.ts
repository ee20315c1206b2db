// The page's end of the trainer: a typed port to the worker. If the worker dies, that is a failure like any other: the page
// stays usable and says what happened.
//
// The page regularly asks the worker whether it still answers. It answers at once, even while it loads, unless it is stuck. If
// it is stuck before the library runs, a browser is at fault - in Firefox, while its developer tools listen to workers, making
// a worker within a worker sometimes never returns - and another worker replaces it. After that, a program keeps it busy: the
// page is told and may end it; if the page does nothing, the worker is ended after a while.

import type { Failure, FromTrainer, ToTrainer } from './protocol.ts';

const PAUSE_MS = 500;
/** The wait before the first restart; it doubles before each further one, as a script may load slowly. */
const SILENCE_MS = 5000;
const MOST_RESTARTS = 5;
/** After how much silence, in ms, a program counts as busy, and after how much it is ended. */
const BUSY_MS = 2500;
const ENDED_MS = 10_000;

export interface ClientActions {
  receive(message: FromTrainer): void;
  /** The program has not answered for this many seconds; 0: it answers again. */
  busy(seconds: number): void;
  /** The program was ended. A new worker exists, to which nothing was sent yet. */
  ended(): void;
}

export class TrainerClient {
  private worker = this.start();
  /** The messages sent before the library ran; null once it runs. */
  private sent: ToTrainer[] | null = [];
  private restarts = 0;
  private timer = 0;
  /** How long, in ms, there has been no answer, while the page itself was awake. */
  private silence = 0;
  private isBusy = false;

  constructor(private readonly actions: ClientActions) {}

  send(message: ToTrainer): void {
    this.worker.postMessage(message);
    if (this.sent !== null) this.sent.push(message);
    if (this.timer === 0) this.ask();
  }

  /** Asks the trainer to leave the processor to the page until it has responded to the user. */
  giveWay(): void {
    if (this.sent === null) this.worker.postMessage({ type: 'giveWay' } satisfies ToTrainer);
  }

  /** Ends the worker and its program, and starts another worker. */
  end(): void {
    this.renew();
    this.actions.ended();
  }

  /** Starts another worker, which must then be told what to open. */
  renew(): void {
    this.worker.terminate();
    clearTimeout(this.timer);
    this.worker = this.start();
    this.restarts = 0;
    this.sent = [];
    this.timer = 0;
    this.setBusy(0);
  }

  /** Ends the worker; nothing is sent after this. */
  close(): void {
    this.worker.terminate();
    clearTimeout(this.timer);
  }

  private start(): Worker {
    const worker = new Worker(new URL('../trainer/worker.ts', import.meta.url), {
      type: 'module',
      name: 'trainer',
    });
    worker.addEventListener('message', (event: MessageEvent<FromTrainer>) => {
      if (worker === this.worker) this.receive(event.data);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      if (worker === this.worker) this.fail(event.message || 'the training worker could not be loaded', 'Reload the page to start again.');
    });
    worker.addEventListener('messageerror', () => this.fail('a message could not be read', ''));
    return worker;
  }

  private fail(message: string, hint: string): void {
    clearTimeout(this.timer);
    this.sent = null;
    const failure: Failure = { name: 'WorkerError', message, hint };
    this.actions.receive({ type: 'failure', failure });
  }

  private receive(message: FromTrainer): void {
    if (message.type === 'alive') {
      clearTimeout(this.timer);
      this.setBusy(0);
      this.timer = window.setTimeout(() => this.ask(), PAUSE_MS);
      return;
    }
    if (message.type === 'capabilities' || message.type === 'failure') this.sent = null;
    this.actions.receive(message);
  }

  private ask(): void {
    this.silence = BUSY_MS;
    this.worker.postMessage({ type: 'ping' } satisfies ToTrainer);
    this.timer = window.setTimeout(() => this.silent(), BUSY_MS);
  }

  /** Called while there is no answer yet. */
  private silent(): void {
    const { silence } = this;
    if (this.sent === null) {
      if (silence > ENDED_MS) return this.end();
      this.setBusy(silence / 1000);
    } else if (silence > SILENCE_MS * 2 ** this.restarts) return this.restart();
    this.silence += PAUSE_MS;
    this.timer = window.setTimeout(() => this.silent(), PAUSE_MS);
  }

  private setBusy(seconds: number): void {
    if (seconds === 0 && !this.isBusy) return;
    this.isBusy = seconds > 0;
    this.actions.busy(seconds);
  }

  private restart(): void {
    this.worker.terminate();
    if (this.restarts++ === MOST_RESTARTS) {
      this.fail('the training worker does not answer', 'Reload the page to start again.');
      return;
    }
    this.worker = this.start();
    for (const message of this.sent ?? []) this.worker.postMessage(message);
    this.ask();
  }
}
