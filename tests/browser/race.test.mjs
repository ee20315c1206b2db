// The race of the Bench tab between the CPU and a graphics processor, here a driver in software; where there is none; and
// where it is lost, in the race and in training. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, openWithWebgpu, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';
import { crossingOf } from '../../web/src/bench/crossing.ts';

const PATIENCE_MS = 120_000;
const by = (id) => `[data-testid=${id}]`;

/** How many devices a worker has; those that compute for others answer nothing. */
const devicesOf = (worker) => Promise.race([
  worker.evaluate(() => self.devices?.length ?? 0).catch(() => 0),
  new Promise((resolve) => setTimeout(resolve, 2000, 0)),
]);

/** Remembers the devices of a worker, so that they can be taken away. */
const rememberDevices = (worker) => worker.evaluate(() => {
  if (typeof GPUAdapter === 'undefined') return;
  const request = GPUAdapter.prototype.requestDevice;
  self.devices = [];
  GPUAdapter.prototype.requestDevice = async function (...given) {
    const device = await request.apply(this, given);
    self.devices.push(device);
    return device;
  };
}).catch(() => {});

test('curves cross on a straight line between two widths on logarithmic axes, or nowhere', () => {
  // The CPU doubles with each width, the other stays: equal at 200.
  const points = [100, 400, 1600].map((width) => ({ width, cpu: width / 100, gpu: 2 }));
  const { width, ms, above } = crossingOf(points);
  assert.ok(Math.abs(width - 200) < 1e-9 && Math.abs(ms - 2) < 1e-9, `${width} ${ms}`);
  assert.equal(above, 'gpu');
  assert.equal(crossingOf(points.map((point) => ({ ...point, gpu: 100 }))), null);
  assert.equal(crossingOf([]), null);
  assert.equal(crossingOf(points.map(({ width: w, cpu, gpu }) => ({ width: w, cpu: gpu, gpu: cpu }))).above, 'cpu');
});

for (const [name, open, viewport, colorScheme] of [
  ['software', openWithWebgpu, { width: 1440, height: 900 }, 'light'],
  ['none', openChromium, { width: 390, height: 844 }, 'dark'],
])
  describe(`the race, graphics processor: ${name}`, () => {
    let server, browser, page, faults;
    const wait = (f, argument) => page.waitForFunction(f, argument, { timeout: PATIENCE_MS });
    const words = () => page.textContent(by('race-words'));

    before(async () => {
      server = await serve({ port: 0 });
      browser = await open();
      page = await browser.newPage({ viewport, colorScheme });
      page.on('worker', rememberDevices);
      faults = watch(page, server.url);
      await page.goto(`${server.url}#bench`);
      await page.waitForSelector(by('race-run'));
    });
    after(async () => {
      await browser?.close();
      await server?.close();
    });

    test('widths are raced one after the other, and what came of it is said', async () => {
      await page.locator(by('race-width')).evaluate((slider) => {
        slider.value = '2';
        slider.dispatchEvent(new Event('input'));
      });
      await page.click(by('race-run'));
      await wait(() => Number(document.querySelector('[data-testid=race-live]').dataset.width) >= 128);
      const live = await page.textContent(by('race-live'));
      assert.match(live, /^Width \d+, .* weights, 64 rows: CPU [<\d]/);
      if (name === 'none') {
        assert.match(await words(), /There is no graphics processor for this page: .+\. The curve is that of the CPU, on \d threads?\./);
        assert.doesNotMatch(live, /GPU/);
      } else {
        assert.match(await words(), /swiftshader.*(faster, above it|faster, at \d+ by)/i);
        assert.match(live, /GPU [\d.]+ ms/);
      }
      await screenshot(page, `race-${name}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    });

    test('it stops, and when another tab is opened too', async () => {
      await page.click(by('race-run'));
      assert.equal(await page.textContent(by('race-live')), 'Stopped.');
      await page.click(by('race-run'));
      await page.click(by('tab-fit'));
      assert.match(await page.textContent(by('race-live')), /^Stopped, as another tab/);
    });

    test('the page did nothing that it should not', () => {
      assert.deepEqual(faults, []);
    });
  });

describe('a graphics processor that is lost', () => {
  let server, browser, page;
  const wait = (f, argument) => page.waitForFunction(f, argument, { timeout: PATIENCE_MS });
  const words = () => page.textContent(by('race-words'));

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openWithWebgpu();
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.on('worker', rememberDevices);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  /** Begins a race. Returns its worker, or undefined if that asked for its device before it was told to remember it. */
  const beginRace = async () => {
    await page.goto('about:blank');
    await page.goto(`${server.url}#bench`);
    await page.click(by('race-run'));
    await wait(() => Number(document.querySelector('[data-testid=race-live]').dataset.width) > 0);
    const worker = page.workers().find((each) => each.url().includes('race'));
    return (await devicesOf(worker)) > 0 ? worker : undefined;
  };

  test('a device that is lost in the race is said to be, and the CPU goes on', async () => {
    let worker;
    while (!worker) worker = await beginRace();
    await worker.evaluate(() => self.devices.forEach((device) => device.destroy()));
    await wait(() => / is out: .*device was lost/.test(document.querySelector('[data-testid=race-words]').textContent));
    const width = await page.getAttribute(by('race-live'), 'data-width');
    await wait((before) => document.querySelector('[data-testid=race-live]').dataset.width !== before, width);
    assert.match(await words(), /The CPU goes on/);
  });

  test('a device that is lost in training is said to be; the next start has another one', async () => {
    const ready = () => page.waitForSelector(`body[data-phase=paused] ${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
    const reached = (step) => wait((least) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= least, step);
    /** Trains. Returns the worker that has the device, or undefined if that asked for it before it was told to remember it. */
    const beginTraining = async () => {
      await page.goto('about:blank');
      await page.goto(`${server.url}?example=spirals`);
      await ready();
      await page.click(by('device-webgpu'));
      await page.waitForSelector('body[data-phase=loading]');
      await ready();
      await page.click(by('start'));
      await reached(3);
      const workers = await Promise.all(page.workers().map(async (worker) => ({ worker, devices: await devicesOf(worker) })));
      return workers.find(({ devices }) => devices > 0)?.worker;
    };
    let worker;
    while (!worker) worker = await beginTraining();
    await worker.evaluate(() => self.devices.at(-1).destroy());
    await page.waitForSelector(`${by('error')}:not([hidden])`, { timeout: PATIENCE_MS });
    assert.match(await page.textContent(by('error')), /device was lost/);
    await ready();
    assert.match(await page.textContent(by('notice')), /^The graphics processor was lost.*Reset begins anew/);
    await page.click(by('reset'));
    await wait(() => document.querySelector('[data-testid=epoch]').dataset.step === '0');
    await ready();
    assert.match(await page.textContent(by('device-note')), /^Runs on the graphics processor/);
    await page.click(by('start'));
    await reached(3);
  });
});
