// picture.mjs [--steps N] - renews docs/playground.png, the picture of the README. It shows the upper part of the Training tab:
// the convolutional network of the gallery after N steps on this machine, with a digit drawn by hand.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { main, root } from './lib/proc.mjs';
import { serve } from './serve.mjs';
import { setup } from './setup.mjs';

const WIDTH = 1440;
const HEIGHT = 1200;
const PATIENCE_MS = 15 * 60_000;
const PICTURE = 'docs/playground.png';

/** The strokes of a three, in shares of the pad. */
const DIGIT = [[0.28, 0.25], [0.52, 0.17], [0.7, 0.3], [0.46, 0.5], [0.7, 0.68], [0.55, 0.83], [0.27, 0.76]];

const by = (id) => `[data-testid=${id}]`;

const draw = async (page) => {
  await page.locator(by('draw-pad')).scrollIntoViewIfNeeded();
  const { x, y, width, height } = await page.locator(by('draw-pad')).boundingBox();
  const [first, ...others] = DIGIT.map(([u, v]) => [x + u * width, y + v * height]);
  await page.mouse.move(...first);
  await page.mouse.down();
  for (const place of others) await page.mouse.move(...place, { steps: 6 });
  await page.mouse.up();
  await page.mouse.move(0, 0);
};

const take = async (page, url, steps) => {
  const ready = () => page.waitForSelector(`body[data-phase=paused] ${by('start')}:not([disabled])`, { timeout: PATIENCE_MS });
  await page.goto(`${url}?example=cnn`);
  await ready();
  await page.click(by('start'));
  await page.waitForFunction((n) => Number(document.querySelector('[data-testid=epoch]').dataset.step) >= n, steps, { timeout: PATIENCE_MS });
  await page.click(by('pause'));
  await ready();
  await draw(page);
  await page.waitForTimeout(1000); // the charts' last frame
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(root, PICTURE) });
};

await main(import.meta.url, async (args) => {
  const { steps } = parseArgs({ args, options: { steps: { type: 'string', default: '500' } } }).values;
  await setup(['wasm', 'browsers']);
  await build(['web']);
  const { openChromium } = await import('../tests/browser/browsers.mjs');
  const server = await serve({ port: 0 });
  const browser = await openChromium();
  try {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT } });
    await take(page, server.url, Number(steps));
    console.log(PICTURE);
  } finally {
    await browser.close();
    await server.close();
  }
});
