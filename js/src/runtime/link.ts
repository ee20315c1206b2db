// A worker, with the same interface in browsers and in Node: post to it, hear its reports, learn of its death.
//
// Invariant: a death is reported when the worker's thread has left the shared memory for good, never before. Node says so
// by an event. A page's worker holds a lock while it lives, also after `terminate` for as long as the browser lets it run
// on: its death is known when somebody else is granted the lock (workers.ts).

import { nodeModule } from './environment.js';
import { workerUrl } from './files.js';
import type { CopyMessage, Report, StartMessage } from './messages.js';
import { startScript } from './script.js';

export interface Link {
  /** Name of the lock that the worker holds while it lives; '' where there are none. */
  readonly lock: string;
  start(message: StartMessage | CopyMessage): void;
  /** Has the worker, which is the watch, wait for another one's lock. */
  watch(seat: number, lock: string): void;
  /** Ends the worker; its death is reported with this reason. */
  end(reason: string): void;
  /** Reports its death, since its lock was granted to somebody else. */
  lockFreed(): void;
  /** Whether the worker keeps a Node process from ending; at first it does not. */
  keepAlive(on: boolean): void;
  /** Whether its thread has ended, if that can be known before the event loop reports it. */
  hasEnded(): boolean;
}

export interface LinkEvents {
  report(report: Report): void;
  /** Called at most once, also when the worker never came up. */
  death(reason: string): void;
}

/** Tries, a millisecond apart, to learn how long a Node worker was active. */
const MOST_TRIES = 50;

/** The link of a seat without a worker. */
export const noLink: Link = {
  lock: '',
  start: () => {},
  watch: () => {},
  end: () => {},
  lockFreed: () => {},
  keepAlive: () => {},
  hasEnded: () => false,
};

/** Whether deaths are learned of by locks. */
export const usesLocks = (): boolean =>
  !nodeModule('node:worker_threads') && globalThis.navigator?.locks !== undefined;

function nodeLink(events: LinkEvents): Link | null {
  const threads = nodeModule('node:worker_threads');
  if (!threads) return null;
  const worker = new threads.Worker(workerUrl(), { name: 'sinter' });
  let why = '';
  let tries = 0;
  const use = () => worker.performance?.eventLoopUtilization?.();
  // Node reports at once that a thread which has ended was idle for -1 ms, but only if it has reported before for how long
  // the thread was active: until then the worker counts as loading. Other engines never report it.
  const loaded = (report: Report): void => {
    if (use()?.active === 0 && tries++ < MOST_TRIES) setTimeout(loaded, 1, report);
    else events.report(report);
  };
  worker.on('message', (message) => {
    const report = message as Report;
    if (report.kind === 'loaded') loaded(report);
    else events.report(report);
  });
  worker.on('error', (error) => (why = String(error)));
  worker.on('exit', (code) => events.death(why || `it exited with code ${code}`));
  worker.unref();
  return {
    ...noLink,
    start: (message) => worker.postMessage(message),
    end: (reason) => {
      why ||= reason;
      void worker.terminate();
    },
    keepAlive: (on) => (on ? worker.ref() : worker.unref()),
    hasEnded: () => (use()?.idle ?? 0) < 0,
  };
}

function webLink(events: LinkEvents): Link {
  const url = workerUrl();
  const worker = startScript(url);
  const lock = usesLocks() ? `sinter-worker-${crypto.randomUUID()}` : '';
  let why = '';
  let isLoaded = false;
  const end = (reason: string): void => {
    why ||= reason;
    worker.terminate();
    if (!lock) events.death(why);
  };
  worker.postMessage({ hold: lock });
  worker.onmessage = ({ data }: MessageEvent<Report>) => {
    isLoaded = true;
    events.report(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    end(event.message || `its script could not be loaded: ${url.href}`);
    if (!isLoaded) events.death(why);
  };
  return {
    ...noLink,
    lock,
    start: (message) => worker.postMessage(message),
    watch: (seat, other) => worker.postMessage({ seat, lock: other }),
    end,
    lockFreed: () => events.death(why || 'it was terminated'),
  };
}

export function openLink(events: LinkEvents): Link {
  let dead = false;
  const once: LinkEvents = {
    report: (report) => {
      if (!dead) events.report(report);
    },
    death: (reason) => {
      if (dead) return;
      dead = true;
      events.death(reason);
    },
  };
  try {
    return nodeLink(once) ?? webLink(once);
  } catch (error) {
    // Some policies make the constructor throw. Reported later, as any other death.
    queueMicrotask(() => once.death(String(error)));
    return { ...noLink };
  }
}

/** Has this thread itself wait for a worker's lock. */
export function awaitLock(link: Link): void {
  if (link.lock) void navigator.locks.request(link.lock, () => link.lockFreed());
}
