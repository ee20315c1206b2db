// The package in a bare page, without a bundler: <script type="module"> in Chromium and Firefox, under a strict
// content security policy, isolated and not, and with a server that gets something wrong.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, watch } from './browsers.mjs';
import { host, notFound, startPage } from './host.mjs';

/** The longest gap between two ticks of a page that waits for data(). */
const MOST_GAP_MS = 150;

/* These run in the page, where `sn` is the package. */

const firstSteps = async () => {
  const { sn } = window;
  const begin = performance.now();
  const info = await sn.init();
  const sum = (await sn.tensor([1, 2, 3]).mul(2).sum().data())[0];
  const firstResultMs = performance.now() - begin;
  const a = sn.tensor([[1, 2, 3], [4, 5, 6]]);
  return {
    info,
    firstResultMs,
    sum,
    isolated: window.crossOriginIsolated,
    cores: navigator.hardwareConcurrency,
    product: sn.matmul(a, a.transpose()).toArray(),
    slope: await sn.grad((x) => x.mul(x).mul(x).sum())(sn.tensor([1, 2, -3])).data().then((data) => [...data]),
  };
};

/** About a second of work, awaited while a timer ticks. */
const ticksDuringData = async () => {
  const { sn } = window;
  await sn.init();
  const x = sn.random.uniform(sn.random.key(1), [1100, 1100], { minval: -0.02, maxval: 0.02 });
  await x.data();
  const gaps = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }, 5);
  const begin = performance.now();
  let y = x;
  for (let i = 0; i < 60; i++) y = sn.tanh(sn.matmul(y, x));
  const data = await y.data();
  const ms = performance.now() - begin;
  clearInterval(timer);
  return { ms, ticks: gaps.length, worst: Math.max(...gaps), finite: data.every(Number.isFinite), size: data.length };
};

/** Many programs in one turn, on the page's own thread: their results, and the engine of the last one a little later. */
const manyProgramsAtOnce = async () => {
  const { sn } = window;
  await sn.init();
  const x = sn.random.normal(sn.random.key(1), [1001]);
  x.dataSync();
  const functions = Array.from({ length: 60 }, (_, n) => (v) => sn.gelu(sn.tanh(v.mul(n + 1))).add(sn.erf(v)).sum());
  const compiled = functions.map((f) => sn.jit(f));
  const values = compiled.map((f) => f(x).item());
  const plain = functions.map((f) => sn.jit(f, { jit: false })(x).item());
  const engineOfLast = async () => (await sn.profile(() => compiled.at(-1)(x))).kernels[0].engine;
  const deadline = performance.now() + 5000;
  while (await engineOfLast() !== 'jit' && performance.now() < deadline) await new Promise((wake) => setTimeout(wake, 20));
  return { values, plain, engine: await engineOfLast(), refused: sn.info().modules.refused };
};

const initAndAdd = async (options) => {
  const { sn } = window;
  try {
    await sn.init(options);
    const x = sn.tensor([1, 2, 3]);
    return { values: [...(await x.add(1).data()), ...x.add(2).dataSync()] };
  } catch (error) {
    return {
      typed: error instanceof sn.SinterError,
      code: error.code,
      message: String(error.message),
    };
  }
};

/** A worker of the page that computes at once after init and does not return to its event loop in the meantime. */
const BUSY_WORKER = {
  type: 'text/javascript',
  body: `import * as sn from '/dist/index.js';
await sn.init({ threads: 2 });
const profile = await sn.profile(() => {
  const product = sn.jit((x) => sn.matmul(x, x));
  const x = sn.ones([700, 700]);
  for (const end = performance.now() + 500; performance.now() < end;) product(x).dataSync();
});
postMessage(profile.kernels[0].threads);`,
};

/** One worker after the other, since the workers of a later one start differently from those of the first. */
const threadsOfBusyWorkers = async () => {
  const threads = [];
  for (let i = 0; i < 3; i++) {
    const worker = new Worker('/busy.js', { type: 'module' });
    threads.push(await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    }));
    worker.terminate();
  }
  return threads;
};

/** A worker that has three of its own, and says so once they run. */
const NEST = { type: 'text/javascript', body: `let up = 0;
for (let i = 0; i < 3; i++) new Worker('/leaf.js').onmessage = () => ++up === 3 && postMessage(up);` };
const LEAF = { type: 'text/javascript', body: 'postMessage(0);' };

/** How many of the workers, one after the other, came up with their own. */
const nestedWorkers = async (count) => {
  let up = 0;
  for (let i = 0; i < count; i++) {
    const worker = new Worker('/nest.js');
    up += await new Promise((resolve) => {
      worker.onmessage = () => resolve(1);
      setTimeout(() => resolve(0), 3000);
    });
    worker.terminate();
  }
  return up;
};

/** init waits for workers only for a while; it is known a little later which ones cannot come. */
const withoutWorkers = `(async () => {
  const result = await (${initAndAdd})();
  const deadline = performance.now() + 5000;
  while (sn.info().threads > 1 && performance.now() < deadline) await new Promise((wake) => setTimeout(wake, 20));
  return { ...result, info: sn.info() };
})()`;

const initTwice = `(async () => {
  const refused = await (${initAndAdd})();
  return { refused, ...await (${initAndAdd})({ wasm: '/dist/sinter.wasm' }) };
})()`;

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => (browser = await open()));
    after(() => browser?.close());

    /** Runs f in a fresh page of a fresh server. */
    const inPage = async (options, f, ...args) => {
      const server = await host(options);
      const page = await browser.newPage();
      const faults = watch(page, server.url);
      try {
        await page.goto(server.url);
        await page.waitForFunction(() => 'sn' in window);
        return { faults, result: await page.evaluate(f, ...args) };
      } finally {
        await page.close();
        await server.close();
      }
    };

    const checkFirstSteps = ({ sum, product, slope }) => {
      assert.equal(sum, 12);
      assert.deepEqual(product, [[14, 32], [32, 77]]);
      assert.deepEqual(slope, [3, 12, 27]);
    };

    test('isolated: threads, values, gradient', async (t) => {
      const { faults, result } = await inPage({}, firstSteps);
      t.diagnostic(`first result ${result.firstResultMs.toFixed(0)} ms after init was called`);
      checkFirstSteps(result);
      assert.equal(result.isolated, true);
      assert.equal(result.info.crossOriginIsolated, true);
      assert.equal(result.info.threads, result.cores);
      assert.deepEqual(result.info.reasons, []);
      assert.deepEqual(faults, []);
    });

    test('all workers compute at once after init', async () => {
      const { result } = await inPage({ instead: { '/busy.js': BUSY_WORKER } }, threadsOfBusyWorkers);
      assert.deepEqual(result, [2, 2, 2]);
    });

    test('the browser starts workers of workers, watched as it is', async () => {
      const { result } = await inPage({ instead: { '/nest.js': NEST, '/leaf.js': LEAF } }, nestedWorkers, 50);
      assert.equal(result, 50);
    });

    test('not isolated: one thread, and why', async (t) => {
      const { faults, result } = await inPage({ isolation: false }, firstSteps);
      t.diagnostic(`first result ${result.firstResultMs.toFixed(0)} ms after init was called`);
      checkFirstSteps(result);
      assert.equal(result.info.crossOriginIsolated, false);
      assert.equal(result.info.threads, 1);
      assert.match(result.info.reasons.join(), /Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy: require-corp/);
      assert.deepEqual(faults, []);
    });

    test('a page goes on while it waits for data()', async (t) => {
      const { faults, result } = await inPage({}, ticksDuringData);
      t.diagnostic(`${result.ms.toFixed(0)} ms of work, ${result.ticks} ticks, longest gap ${result.worst.toFixed(0)} ms`);
      assert.ok(result.finite && result.size === 1100 * 1100);
      assert.ok(result.ms > 2 * MOST_GAP_MS, 'enough work to tell');
      assert.ok(result.worst < MOST_GAP_MS, `a gap of ${result.worst} ms`);
      assert.deepEqual(faults, []);
    });

    test('code for many programs in one turn: equal results, and code for all of them in the end', async () => {
      const { faults, result } = await inPage({ isolation: false }, manyProgramsAtOnce);
      assert.deepEqual(result.values, result.plain);
      assert.equal(result.engine, 'jit');
      assert.equal(result.refused, 0);
      assert.deepEqual(faults, []);
    });

    for (const [what, answer] of [['is missing', notFound], ['is HTML', startPage]]) {
      test(`a worker script that ${what}: one thread in the end, and why`, async () => {
        const { result } = await inPage({ instead: { '/dist/worker.js': answer } }, withoutWorkers);
        assert.deepEqual(result.values, [2, 3, 4, 3, 4, 5], result.message);
        assert.equal(result.info.threads, 1);
        assert.match(result.info.reasons.join(), /worker: .* was lost/);
      });
    }

    test('HTML in place of the module: a typed error, and another init can follow', async () => {
      const instead = { '/dist/sinter-mt.wasm': startPage };
      const { result: { refused, values, message } } = await inPage({ instead }, initTwice);
      assert.equal(refused.typed, true, refused.message);
      assert.equal(refused.code, 'load');
      assert.match(refused.message, /HTML/);
      assert.deepEqual(values, [2, 3, 4, 3, 4, 5], message);
    });

    test('a module that is not there: a typed error', async () => {
      const { result } = await inPage({}, initAndAdd, { wasm: '/dist/nowhere.wasm' });
      assert.equal(result.typed, true, result.message);
      assert.equal(result.code, 'load');
      assert.match(result.message, /404/);
    });
  });
}
