// Runs a campaign against the package in a page. It is paced: a page hears of deaths inside a call from one worker,
// the watch; the death of a worker that is ended together with it, or before it is replaced, may go unnoticed.
import { host } from '../browser/host.mjs';
import { campaign } from './campaign.mjs';

const SCRIPT = {
  type: 'text/javascript',
  body: `
const alive = new Set();
window.alive = alive;
const RealWorker = Worker;
window.Worker = class extends RealWorker {
  constructor(...args) {
    super(...args);
    alive.add(this);
  }
  terminate() {
    alive.delete(this);
    super.terminate();
  }
};
window.sn = await import('/dist/index.js');
`,
};

const PAGE = `async (options) => {
  await window.sn.init({ threads: 3 });
  return (${campaign})({ sn: window.sn, workers: () => [...window.alive], paced: true, ...options });
}`;

/** A page where `sn` is the package, not initialised, and `alive` the workers that it has started. */
export const inPageOfWorkers = async (browser, f) => {
  const server = await host({ instead: { '/page.js': SCRIPT } });
  const page = await browser.newPage();
  try {
    await page.goto(server.url);
    await page.waitForFunction(() => 'sn' in window);
    return await f(page);
  } finally {
    await page.close();
    await server.close();
  }
};

export const runInPage = (browser, options) =>
  inPageOfWorkers(browser, (page) => page.evaluate(`(${PAGE})(${JSON.stringify(options)})`));
