// The page's end of the trainer: a typed port to the worker. A worker that dies is a failure
// like any other; the page stays usable and says what happened.

import type { Failure, FromTrainer, ToTrainer } from './protocol.ts';

export class TrainerClient {
  private readonly worker = new Worker(new URL('../trainer/worker.ts', import.meta.url), {
    type: 'module',
    name: 'trainer',
  });

  constructor(onMessage: (message: FromTrainer) => void) {
    const fail = (failure: Failure): void => onMessage({ type: 'failure', failure });
    this.worker.addEventListener('message', (event: MessageEvent<FromTrainer>) => {
      onMessage(event.data);
    });
    this.worker.addEventListener('error', (event) => {
      event.preventDefault();
      const message = event.message || 'the training worker could not be loaded';
      fail({ name: 'WorkerError', message, hint: 'Reload the page to start again.' });
    });
    this.worker.addEventListener('messageerror', () => {
      fail({ name: 'WorkerError', message: 'a message could not be read', hint: '' });
    });
  }

  send(message: ToTrainer): void {
    this.worker.postMessage(message);
  }
}
