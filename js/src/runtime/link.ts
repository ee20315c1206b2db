// A worker, the same way in browsers and in Node: post to it, hear its reports, learn of its death.
//
// Invariant: death is told when the worker's thread has left the shared memory for good, never before.
// Node says so by an event. A page's worker holds a lock while it lives, which outlasts `terminate` by as
// long as the browser lets it run on: whoever is granted the lock knows (workers.ts).

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
  /** Ends the worker; its death is told with this reason. */
  end(reason: string): void;
  /** The worker's lock was granted to somebody else: tells its death. */
  lockFreed(): void;
  /** Whether the worker keeps a Node process from ending; at first it does not. */
  keepAlive(on: boolean): void;
  /** Whether its thread has ended, where that can be known before the event loop tells. */
  hasEnded(): boolean;
}

export interface LinkEvents {
  report(report: Report): void;
  /** Called at most once, also when the worker never came up. */
  death(reason: string): void;
}

/** Milliseconds that a Node worker may have to tell of its activity. */
const MOST_TRIES = 50;

/** Of a link whose worker is gone. */
export const noLink: Link = {
  lock: '',
  start: () => {},
  watch: () => {},
  end: () => {},
  lockFreed: () => {},
  keepAlive: () => {},
  hasEnded: () => false,
};

/** Whether deaths are told by locks. */
export const usesLocks = (): boolean =>
  !nodeModule('node:worker_threads') && globalThis.navigator?.locks !== undefined;

function nodeLink(events: LinkEvents): Link | null {
  const threads = nodeModule('node:worker_threads');
  if (!threads) return null;
  const worker = new threads.Worker(workerUrl(), { name: 'sinter' });
  let why = '';
  let tries = 0;
  const use = () => worker.performance?.eventLoopUtilization?.();
  // Of a thread that has ended Node says at once that it was idle for -1 ms, but only if it has said before
  // for how long it was active: until then the worker counts as loading. Other engines never say.
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
    // Some policies refuse in the constructor. Told later, as any other death.
    queueMicrotask(() => once.death(String(error)));
    return { ...noLink };
  }
}

/** Has this thread itself wait for a worker's lock. */
export function awaitLock(link: Link): void {
  if (link.lock) void navigator.locks.request(link.lock, () => link.lockFreed());
}
