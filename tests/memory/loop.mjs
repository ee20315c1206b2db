// The training loop of README.md on batches of 128 x 784 numbers; it disposes of nothing. It runs in Node and, as
// text, in pages, where `sn` is the package.

/**
 * steps: how many; pause: 'data' awaits each loss, 'now and then' every 200th, 'timer' a timer every 10 steps.
 * progress is called with the steps done and the most bytes in use so far.
 */
export const trainWithoutDisposing = async (sn, { steps, pause, maxMemory }, progress) => {
  await sn.init(maxMemory ? { maxMemory } : {});
  const { nn, optim, random } = sn;
  const net = nn.sequential(nn.linear(784, 32), nn.relu(), nn.linear(32, 10));
  const loss = (params, x, y) => net.apply(params, x).sub(y).square().mean();
  const step = sn.trainStep(loss, optim.adam({ lr: 0.001 }));
  const inputs = new Float32Array(128 * 784).fill(0.1);
  const targets = new Float32Array(128 * 10).fill(0.5);
  let state = step.init(net.init(random.key(0)));
  let mostBytes = 0;
  for (let i = 1; i <= steps; i++) {
    const result = step(state, sn.tensor(inputs, { shape: [128, 784] }), sn.tensor(targets, { shape: [128, 10] }));
    state = result.state;
    if (pause === 'data' || (pause === 'now and then' && i % 200 === 0)) await result.loss.data();
    if (pause === 'timer' && i % 10 === 0) await new Promise((resolve) => setTimeout(resolve));
    mostBytes = Math.max(mostBytes, sn.memory().bytesInUse);
    progress.steps = i;
    progress.mostBytes = mostBytes;
  }
  progress.loss = (await step(state, sn.zeros([128, 784]), sn.zeros([128, 10])).loss.data())[0];
};

/** Starts the loop in a page of the package and resolves to its progress when it has ended. */
export const trainInPage = async (page, options) => {
  await page.evaluate(`window.progress = {};
    window.ended = (${trainWithoutDisposing})(window.sn, ${JSON.stringify(options)}, window.progress)
      .catch((error) => (window.progress.error = String(error)));
    0`);
  for (;;) {
    const progress = await page.evaluate(() => window.progress);
    if (progress.error) throw new Error(progress.error);
    if (progress.loss !== undefined) return progress;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
};
