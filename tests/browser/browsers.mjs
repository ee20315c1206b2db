// The browsers of the tests, and a record of everything that a page does and should not do.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { root } from '../../scripts/lib/proc.mjs';

const CHROMIUM = '/usr/bin/chromium';
const FIREFOX = '/usr/bin/firefox-esr';
/** Why its tests are left out, or false. */
export const noFirefox = existsSync(FIREFOX) ? false : 'there is no Firefox';

export const chromiumOptions = {
  executablePath: CHROMIUM,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
};

export const openChromium = () => chromium.launch(chromiumOptions);

/** With WebGPU, on a driver in software. */
export const openWithWebgpu = () => chromium.launch({
  ...chromiumOptions,
  args: [
    ...chromiumOptions.args.filter((arg) => arg !== '--disable-gpu'),
    '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan',
  ],
});

/**
 * In the browser itself: ends the driver's listening to workers. While anything listens to them, Firefox 153 now and then
 * never returns from `new Worker` within a worker: that waits for word that the listener was told, and the signal goes to
 * the new worker's thread instead. Of 100 workers with three of their own each, 17 hung. Older versions do not listen.
 */
const STOP_LISTENING = `try {
  ChromeUtils.importESModule('chrome://remote/content/shared/js-process-actors/WebDriverWorkerListenerActor.sys.mjs')
    .unregisterWebDriverWorkerListenerActor();
} catch {}`;

/** No protocolTimeout, since each test has its own limit: the driver's, 180 s, ends a campaign in a page that takes longer. */
export const openFirefox = async () => {
  const { default: puppeteer } = await import('puppeteer-core');
  const browser = await puppeteer.launch({
    browser: 'firefox', executablePath: FIREFOX, headless: true, args: ['--remote-allow-system-access'], protocolTimeout: 0,
  });
  const { connection } = browser;
  const { result: { contexts: [{ context }] } } = await connection.send('browsingContext.getTree', { 'moz:scope': 'chrome' });
  await connection.send('script.evaluate', { expression: STOP_LISTENING, target: { context }, awaitPromise: false });
  return browser;
};

export const BOTH = [
  { name: 'Chromium', open: openChromium, skip: false },
  { name: 'Firefox', open: openFirefox, skip: noFirefox },
];

/** Of ways that a test may take, the first ones, and in suite `pages` all: more of the same in another browser, at another width, by
 *  another program. */
export const mainOf = (ways, count = 1) => (process.env.SINTER_TEST_PAGES === 'main' ? ways.slice(0, count) : ways);

/** Those that most files run their tests in. */
export const BROWSERS = mainOf(BOTH);

/** Faults of a page as they happen: errors, warnings of the browser, requests to other servers. */
export const watch = (page, origin) => {
  const faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) faults.push(`request: ${url}`);
  });
  return faults;
};

/** Saves what a page (of playwright) shows. */
export const screenshot = (page, name) => {
  const folder = join(root, 'build/screenshots');
  mkdirSync(folder, { recursive: true });
  return page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
};
