// sn.fit in a page: frames come while it trains, an abort ends it with its state, and the bits are those of steps by
// hand.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, watch } from './browsers.mjs';
import { host } from './host.mjs';

const train = async () => {
  const { sn } = window;
  await sn.init({ deterministic: true });
  const { data, nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(64, 256), nn.relu(), nn.linear(256, 64));
  const step = sn.trainStep((p, x) => net.apply(p, x).sub(x).square().mean(), optim.adam());
  const rows = random.normal(random.key(1), [2000, 64]);
  const set = data.fromArrays([rows]).shuffle(random.key(2)).batch(100).prefetch(2);
  const first = () => step.init(net.init(random.key(3)));
  const sums = (state) => sn.tree.leaves(step.params(state)).map((t) => t.sum().item());
  await sn.fit(step, first(), set, { epochs: 1 }); // compiles
  let [frames, longest, last, on] = [0, 0, performance.now(), true];
  const frame = () => {
    frames++;
    if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (on) port2.postMessage(null);
  };
  port2.postMessage(null);
  const control = new AbortController();
  const begun = await sn.fit(step, first(), set, { epochs: 20, signal: control.signal, onStep: ({ step: n }) => n === 333 && control.abort() });
  const { state } = await sn.fit(step, begun.state, set, { epochs: 20, place: begun.place });
  on = false;
  let byHand = first();
  for (let pass = 0; pass < 20; pass++) {
    for await (const batch of set.start({ pass })) {
      const made = step(byHand, ...batch);
      byHand = made.state;
      sn.dispose([batch, made.loss]);
    }
  }
  return { stopped: begun.stopped, steps: begun.place.steps, fitted: sums(state), byHand: sums(byHand), frames, longest, threads: sn.info().threads };
};

for (const { name, open, skip } of BROWSERS) {
  describe(name, { skip }, () => {
    let browser;
    before(async () => (browser = await open()));
    after(() => browser?.close());

    for (const isolation of [true, false]) {
      test(isolation ? 'with workers' : 'on the page alone', async (t) => {
        const server = await host({ isolation });
        const page = await browser.newPage();
        const faults = watch(page, server.url);
        await page.goto(server.url);
        await page.waitForFunction(() => 'sn' in window);
        const { stopped, steps, fitted, byHand, frames, longest, threads } = await page.evaluate(train);
        t.diagnostic(`${threads} threads: ${frames} frames in 400 steps, the page was away for ${longest.toFixed(1)} ms at most`);
        assert.equal(stopped, 'aborted');
        assert.ok(steps === 333 || steps === 334);
        assert.deepEqual(fitted, byHand);
        assert.ok(frames > 3);
        assert.deepEqual(faults, []);
        await page.close();
        await server.close();
      });
    }
  });
}
