// A worker, the same way in browsers and in Node: post to it, hear its reports, learn of its death.

import { nodeModule } from './environment.js';
import { workerUrl } from './files.js';
import type { Report, StartMessage } from './messages.js';
import { startScript } from './script.js';

export interface Link {
  start(message: StartMessage): void;
  terminate(): void;
  /** Whether the worker keeps a Node process from ending; at first it does not. */
  keepAlive(on: boolean): void;
}

export interface LinkEvents {
  report(report: Report): void;
  /** Called at most once, also when the worker never came up. */
  death(reason: string): void;
}

const lifeLock = (): string => `sinter-worker-${crypto.randomUUID()}`;

function nodeLink(events: LinkEvents): Link | null {
  const threads = nodeModule('node:worker_threads');
  if (!threads) return null;
  const worker = new threads.Worker(workerUrl(), { name: 'sinter' });
  worker.on('message', (message) => events.report(message as Report));
  worker.on('error', (error) => events.death(String(error)));
  worker.on('exit', (code) => events.death(`it exited with code ${code}`));
  worker.unref();
  return {
    start: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
    keepAlive: (on) => (on ? worker.ref() : worker.unref()),
  };
}

function webLink(events: LinkEvents): Link {
  const url = workerUrl();
  const worker = startScript(url);
  // A terminated worker sends no event at all, but it loses the lock it holds.
  const lock = globalThis.navigator?.locks ? lifeLock() : '';
  worker.onmessage = ({ data }: MessageEvent<Report>) => {
    if (data.kind === 'ready' && lock) {
      void navigator.locks.request(lock, () => events.death('it was terminated'));
    }
    events.report(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    events.death(event.message || `its script could not be loaded: ${url.href}`);
  };
  return {
    start: (message) => worker.postMessage({ lock, start: message }),
    terminate: () => worker.terminate(),
    keepAlive: () => {},
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
    return { start: () => {}, terminate: () => {}, keepAlive: () => {} };
  }
}
