// variants.mjs - the builds that are compared. Each is a process (or page) that stays alive between
// commands, so that the measurements of all of them can alternate.
//
//   { name, title, limit, ask(line) -> object, close() }     limit: the peak that its arithmetic is compared with
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Stop, newerNode, root, which } from '../scripts/lib/proc.mjs';
import { serve } from '../scripts/serve.mjs';

const PYTHON = '/usr/bin/python3';
const CHROMIUM_ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const checked = (name, reply) => {
  if (reply.error) throw new Stop(`bench: ${name}: ${reply.error}`);
  return reply;
};

/** A process that answers each line on stdin with a line of JSON. */
const lineProcess = (name, command, args, env = {}) => {
  const child = spawn(command, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const end = () => child.kill();
  process.once('exit', end);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Stop(`bench: ${name} ended at: ${line}`);
      return checked(name, JSON.parse(value));
    },
    close: async () => {
      process.off('exit', end);
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
};

/** Kernels interpreted in strips, or (env) compiled by the machine's compiler before their first run. */
const native = (name, { deterministic }, env = { SINTER_CC: 'off' }) => lineProcess(name,
  join(root, 'build/native/bench/native/bench_workloads'), ['0', deterministic ? 'deterministic' : 'fast'], env);

const node = (name, options) =>
  lineProcess(name, newerNode(), ['bench/wasm/node.mjs', JSON.stringify(options)]);

const PAGE = 'bench/wasm/page.html';

/** Chromium and a server with the headers for threads. */
const openBrowser = async () => {
  const executablePath = which('chromium');
  if (!executablePath) throw new Stop('bench: chromium is not installed');
  const server = await serve({ folder: root });
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
  return {
    /** A page in a context of its own: nothing is cached from earlier pages. */
    newPage: async () => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(server.url + PAGE);
      await page.waitForFunction('window.bench');
      return page;
    },
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
};

const page = async (name, options) => {
  const browser = await openBrowser();
  const opened = await browser.newPage();
  checked(name, await opened.evaluate((given) => window.bench.start(given), options));
  return {
    ask: async (line) => checked(name, await opened.evaluate((text) => window.bench.ask(text), line)),
    close: () => browser.close(),
  };
};

/** The milliseconds from init to a first result, each on a page that has loaded nothing yet. */
export const firstResults = async (count) => {
  const browser = await openBrowser();
  try {
    const ms = [];
    for (let i = 0; i < count; i += 1) {
      const fresh = await browser.newPage();
      ms.push(await fresh.evaluate(() => window.bench.firstResult()));
      await fresh.context().close();
    }
    return ms;
  } finally {
    await browser.close();
  }
};

const VARIANTS = [
  { name: 'native', title: 'native', limit: 'fma', open: native },
  { name: 'native-cc', title: 'native, compiled', limit: 'fma',
    open: (name, options) => native(name, options, { SINTER_CC_WAIT: '1' }) },
  { name: 'wasm', title: 'wasm, Node', limit: 'muladd128', open: node },
  { name: 'page', title: 'wasm, Chromium', limit: 'muladd128', open: page },
  { name: 'wasm1', title: 'wasm, one thread', limit: 'muladd128',
    open: (name, options) => node(name, { ...options, single: true }) },
  { name: 'numpy', title: 'NumPy', limit: 'fma', foreign: true,
    open: (name) => lineProcess(name, PYTHON, ['bench/numpy_workloads.py']) },
  { name: 'torch', title: 'PyTorch', limit: 'fma', foreign: true,
    open: (name) => lineProcess(name, PYTHON, ['bench/torch_workloads.py']) },
];

/** The foreign variants that are installed for the system's Python. */
export const installedForeign = () => VARIANTS.filter(({ name, foreign }) =>
  foreign && spawnSync(PYTHON, ['-c', `import ${name}`]).status === 0).map(({ name }) => name);

export const variantNames = VARIANTS.map(({ name }) => name);
const ours = VARIANTS.filter(({ foreign }) => !foreign).map(({ name }) => name);
export const usualVariants = ours;
/** Whether a variant answers all commands; the others only measure times. */
export const isOurs = (name) => ours.includes(name);

/** Starts variants by name; options are options of sn.init that all of them support. */
export const openVariants = async (names, options) => {
  const opened = [];
  try {
    for (const { name, title, limit, open } of VARIANTS.filter((v) => names.includes(v.name))) {
      const { ask, close } = await open(name, options);
      const variant = { name, title, limit, ask, close, threads: 1 };
      opened.push(variant);
      Object.assign(variant, await ask('info'));
      variant.name = name;
    }
    return opened;
  } catch (error) {
    await closeVariants(opened);
    throw error;
  }
};

export const closeVariants = (variants) => Promise.all(variants.map(({ close }) => close()));
