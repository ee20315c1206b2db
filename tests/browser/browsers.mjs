// The browsers of the tests, and a record of everything that a page does and should not do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { root } from '../../scripts/lib/proc.mjs';

const CHROMIUM = '/usr/bin/chromium';
const FIREFOX = '/usr/bin/firefox-esr';
/** A browser whose tests are left out where the machine does not have it. */
export const hasFirefox = existsSync(FIREFOX);

export const chromiumOptions = {
  executablePath: CHROMIUM,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
};

export const openChromium = () => chromium.launch(chromiumOptions);

export const openFirefox = async () => {
  const { default: puppeteer } = await import('puppeteer-core');
  return puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true });
};

/**
 * Opens Firefox at an address without a driver: while a driver listens to it, Firefox 153 now and then never returns
 * from `new Worker` within a worker (it waits for its debugger's consent, with any script). So what a page's workers
 * start themselves is tested without one. Resolves to a function that ends the visit.
 */
export const visitWithFirefox = async (url) => {
  const profile = mkdtempSync(join(tmpdir(), 'sinter-firefox-'));
  const firefox = spawn(FIREFOX, ['--headless', '--no-remote', '--profile', profile, url], { stdio: 'ignore' });
  const ended = once(firefox, 'exit');
  await once(firefox, 'spawn');
  return async () => {
    firefox.kill('SIGKILL');
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
};

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
