// Runs a campaign against the package in this process; it catches the workers as the package starts them.
import { campaign } from './campaign.mjs';

const threads = process.getBuiltinModule('node:worker_threads');
const alive = new Set();
const RealWorker = threads.Worker;
threads.Worker = class extends RealWorker {
  constructor(...args) {
    super(...args);
    alive.add(this);
    this.on('exit', () => alive.delete(this));
  }

  terminate() {
    alive.delete(this);
    return super.terminate();
  }
};

export const runInNode = async (options) => {
  const sn = await import('../../js/dist/index.js');
  await sn.init({ threads: 3 });
  return campaign({ sn, workers: () => [...alive], ...options });
};
