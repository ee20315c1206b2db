// The page's end of a worker that answers questions. A worker is ended if it is silent for too long, or if its answer is no
// longer wanted; the next question starts a new one. A worker that waits for the network reports so regularly, and that time
// does not count.

import type { Answer, Loading, Patience, Problem } from './protocol.ts';

export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
    this.name = problem.name;
  }
}

const problem = (name: string, message: string, hint = ''): ProblemError =>
  new ProblemError({ name, message, hint, line: null, column: null });

/** The time limit of each attempt to open the library. In Firefox, while its developer tools listen to workers, creating a
 *  worker within a worker sometimes never returns; another attempt then works. */
const OPEN_MS = [5000, 10_000, 30_000];

/** Asks until the library is open, or all attempts have failed. */
export async function openPatiently<T>(ask: (limitMs: number) => Promise<T>, attempt = 0): Promise<T> {
  try {
    return await ask(OPEN_MS[attempt]);
  } catch (error) {
    const stuck = error instanceof ProblemError && error.name === 'Stopped';
    if (!stuck || attempt + 1 === OPEN_MS.length) throw error;
    return openPatiently(ask, attempt + 1);
  }
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: ProblemError): void;
  limitMs: number;
  /** The hint of the error if the limit is exceeded. */
  hint: string;
}

type Call<M, K extends keyof M> = M[K] extends (...args: infer A) => infer R
  ? { args: A; result: R }
  : never;

export class Rpc<M> {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;
  /** The time limit of the oldest question. Answers come in the order of the questions, so its time starts with the previous
   *  answer. */
  private timer: number | undefined;

  constructor(
    private readonly start: () => Worker,
    private readonly onLoading: (loading: Loading) => void = () => undefined,
  ) {}

  /** Whether a worker is running. */
  get alive(): boolean {
    return this.worker !== null;
  }

  ask<K extends keyof M & string>(
    method: K,
    args: Call<M, K>['args'],
    limitMs: number,
  ): Promise<Call<M, K>['result']> {
    this.worker ??= this.open();
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, limitMs, hint: 'Is there a loop that never ends?' });
      if (this.waiting.size === 1) this.countDown();
      this.worker?.postMessage({ id, method, args });
    });
  }

  private countDown(): void {
    clearTimeout(this.timer);
    const [oldest] = this.waiting.values();
    if (oldest === undefined) return;
    const { limitMs, hint } = oldest;
    this.timer = window.setTimeout(() => this.end(problem('Stopped', `no answer after ${Math.round(limitMs / 1000)} s`, hint)), limitMs);
  }

  /** Ends the worker; open questions are rejected. */
  end(reason = problem('Cancelled', 'cancelled')): void {
    this.worker?.terminate();
    this.worker = null;
    const given = [...this.waiting.values()];
    this.waiting.clear();
    clearTimeout(this.timer);
    for (const { reject } of given) reject(reason);
  }

  private open(): Worker {
    const worker = this.start();
    worker.addEventListener('message', ({ data }: MessageEvent<Answer | Loading | Patience>) => {
      if ('id' in data) this.receive(data);
      else if ('hint' in data) this.wait(data);
      else this.keepWaiting(data);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.end(problem('WorkerError', event.message || 'the worker could not be loaded'));
    });
    return worker;
  }

  private keepWaiting(loading: Loading): void {
    this.countDown();
    this.onLoading(loading);
  }

  private wait(patience: Patience): void {
    const [oldest] = this.waiting.values();
    if (oldest === undefined) return;
    Object.assign(oldest, patience);
    this.countDown();
  }

  private receive(answer: Answer): void {
    const waiting = this.waiting.get(answer.id);
    if (waiting === undefined) return;
    this.waiting.delete(answer.id);
    this.countDown();
    if (answer.ok) waiting.resolve(answer.value);
    else waiting.reject(new ProblemError(answer.problem));
  }
}
