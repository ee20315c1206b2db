// The page's end of the trainer: a typed port to the worker. A worker that dies is a failure
// like any other; the page stays usable and says what happened.
//
// Until the library runs, the page asks the worker now and then whether it still answers. It answers at once,
// even while it loads, unless it is stuck: in Firefox, while its developer tools listen to workers, making a worker
// within a worker sometimes never returns. Then another worker takes its place.

import type { Failure, FromTrainer, ToTrainer } from './protocol.ts';

const PAUSE_MS = 500;
/** The wait before the first restart; it doubles before each further one, as a script may load slowly. */
const SILENCE_MS = 5000;
const MOST_RESTARTS = 5;

export class TrainerClient {
  private worker = this.start();
  /** What was sent before the library ran; null once it runs. */
  private sent: ToTrainer[] | null = [];
  private restarts = 0;
  private timer = 0;

  constructor(private readonly onMessage: (message: FromTrainer) => void) {}

  send(message: ToTrainer): void {
    this.worker.postMessage(message);
    if (this.sent === null) return;
    this.sent.push(message);
    if (this.timer === 0) this.ask();
  }

  private start(): Worker {
    const worker = new Worker(new URL('../trainer/worker.ts', import.meta.url), {
      type: 'module',
      name: 'trainer',
    });
    worker.addEventListener('message', (event: MessageEvent<FromTrainer>) => this.receive(event.data));
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.fail(event.message || 'the training worker could not be loaded', 'Reload the page to start again.');
    });
    worker.addEventListener('messageerror', () => this.fail('a message could not be read', ''));
    return worker;
  }

  private fail(message: string, hint: string): void {
    this.settle();
    const failure: Failure = { name: 'WorkerError', message, hint };
    this.onMessage({ type: 'failure', failure });
  }

  private receive(message: FromTrainer): void {
    if (message.type === 'alive') {
      clearTimeout(this.timer);
      if (this.sent !== null) this.timer = window.setTimeout(() => this.ask(), PAUSE_MS);
      return;
    }
    if (message.type === 'capabilities' || message.type === 'failure') this.settle();
    this.onMessage(message);
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.sent = null;
  }

  private ask(): void {
    this.worker.postMessage({ type: 'ping' } satisfies ToTrainer);
    this.timer = window.setTimeout(() => this.restart(), SILENCE_MS * 2 ** this.restarts);
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
