// The device in a page: Chromium with WebGPU on a driver in software.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openWithWebgpu, watch } from './browsers.mjs';
import { host } from './host.mjs';

const SCRIPT = `import * as sn from '/dist/index.js';
import { webgpu } from '/dist/webgpu.js';
window.sn = sn;
window.webgpu = webgpu;
`;

const train = async () => {
  const { sn, webgpu } = window;
  const info = await sn.init({ device: webgpu() });
  const { nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(20, 40), nn.relu(), nn.linear(40, 1));
  const [x, y] = [random.normal(random.key(1), [64, 20]), random.normal(random.key(2), [64, 1])];
  const losses = {};
  for (const device of ['cpu', 'webgpu', 'auto']) {
    const step = sn.trainStep((p, a, b) => net.apply(p, a).sub(b).square().mean(), optim.adamw({ lr: 1e-2 }), { device });
    let state = step.init(net.init(random.key(3)));
    losses[device] = [];
    for (let i = 0; i < 5; i++) {
      const made = step(state, x, y);
      state = made.state;
      losses[device].push((await made.loss.data())[0]);
    }
  }
  const { choices } = sn.info().device;
  return { device: info.device, threads: info.threads, losses, choices };
};

let browser;
before(async () => (browser = await openWithWebgpu()));
after(() => browser?.close());

for (const isolation of [true, false])
  test(isolation ? 'beside workers' : 'beside one thread', async (t) => {
    const server = await host({ isolation, instead: { '/page.js': { body: SCRIPT, type: 'text/javascript' } } });
    t.after(() => server.close());
    const page = await browser.newPage();
    const faults = watch(page, server.url);
    await page.goto(server.url);
    await page.waitForFunction(() => window.webgpu);
    const { device, threads, losses, choices } = await page.evaluate(train);
    assert.equal(device.name, 'webgpu');
    assert.equal(threads > 1, isolation);
    for (const side of ['webgpu', 'auto'])
      losses[side].forEach((loss, i) => assert.ok(Math.abs(loss - losses.cpu[i]) < 1e-4 * losses.cpu[i], `${losses[side]}, ${losses.cpu}`));
    assert.deepEqual(choices.map(({ op, reason }) => [op, reason]), [['trainStep', 'measured']]);
    assert.ok(losses.webgpu.at(-1) < losses.webgpu[0]);
    assert.deepEqual(faults, []);
  });
