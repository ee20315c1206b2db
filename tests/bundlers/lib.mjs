// The tools of package.json, installed under build/bundlers, with the package as npm would publish it among them; and
// what the tests of consumers share.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openChromium } from '../browser/browsers.mjs';
import { root, run, runOrStop } from '../../scripts/lib/proc.mjs';
import { serve } from '../../scripts/serve.mjs';

const HERE = join(root, 'tests/bundlers');
export const home = join(root, 'build/bundlers');
export const tool = (name) => join(home, 'node_modules/.bin', name);
export const installed = join(home, 'node_modules/sinter');

const install = async () => {
  const stamp = join(home, '.installed');
  const lock = createHash('sha256').update(readFileSync(join(HERE, 'package-lock.json'))).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(HERE, name), join(home, name));
  // Not `npm ci`: the lock file names no packages for other systems where the registry it was made with had none.
  await runOrStop('npm', ['install', '--prefix', home]);
  writeFileSync(stamp, lock);
};

/** Installs the tools if the lock file has changed, and the package as it is built now. */
export const prepare = async () => {
  mkdirSync(home, { recursive: true });
  await install();
  const output = await runOrStop('npm', ['pack', '--json', '--workspace', 'sinter', '--pack-destination', home]);
  const tarball = join(home, /"filename": "([^"]+)"/.exec(output)[1]);
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed);
  await runOrStop('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
};

/** A fresh project with the fixture and further files, by name; resolves to its folder. */
export const project = (name, files = {}) => {
  const folder = join(home, 'work', name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(HERE, 'fixture'), folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
};

/** A page that loads a script. */
export const pageOf = (script, type = 'module') =>
  `<!doctype html><meta charset="utf-8"><title>x</title><link rel="icon" href="data:,"><script type="${type}" src="${script}"></script>\n`;

/** Copies files of the package beside a bundle, for bundlers that do not. */
export const copyFiles = (folder, names = ['sinter.wasm', 'sinter-mt.wasm', 'worker.js']) => {
  for (const name of names) copyFileSync(join(installed, 'dist', name), join(folder, name));
};

/** Runs a command in a folder; returns its output, or fails with it. */
export const execute = async (folder, command, args, env = {}) => {
  const { code, output } = await run('sh', ['-c', 'cd "$0" && exec "$@"', folder, command, ...args], { env, timeoutMs: 170_000 });
  assert.equal(code, 0, output);
  return output;
};

/** The result that a program has printed as its last line. */
export const printed = (output) => JSON.parse(output.trim().split('\n').at(-1));

/** The result of a page at a URL, in Chromium. options: those of init, set before the page's scripts run. */
export const resultAt = async (url, options) => {
  const browser = await openChromium();
  try {
    const page = await browser.newPage();
    await page.addInitScript((given) => (globalThis.sinterOptions = given), options);
    await page.goto(url);
    await page.waitForFunction(() => 'result' in window, undefined, { timeout: 60_000 });
    return await page.evaluate(() => window.result);
  } finally {
    await browser.close();
  }
};

/** Like resultAt, for a folder with index.html. */
export const resultIn = async (folder, { isolation = true, options } = {}) => {
  const server = await serve({ folder, port: 0, isolation });
  try {
    return await resultAt(server.url, options);
  } finally {
    await server.close();
  }
};

/** threads: whether there must be several. */
export const check = ({ error, product, refusal, threads, reasons }, { threads: wanted }) => {
  assert.equal(error, undefined);
  assert.deepEqual(product, [7, 10, 15, 22]);
  assert.equal(refusal, 'ShapeError: matmul: inner dimensions differ: a (2, 2), b (3, 3)');
  assert.equal(threads > 1, wanted, reasons.join('; '));
};
