// proc.mjs - child processes of the repository's scripts.
//
// Invariant: no child outlives the script. Each runs in its own process group; when the script ends, by
// itself or by a signal, it ends the groups that are still alive.
import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');

/** A failure that its message explains; it is shown without a stack. */
export class Stop extends Error {}

const groups = new Set();
const endGroup = (pid, signal) => {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group ended by itself in the meantime.
  }
};
process.on('exit', () => groups.forEach((pid) => endGroup(pid, 'SIGTERM')));

let interrupted = (signal) => process.exit(signal === 'SIGINT' ? 130 : 143);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interrupted(signal));

/** Replaces the reaction to SIGINT and SIGTERM. By default the script ends with 128 + the signal. */
export const onInterrupt = (handler) => {
  interrupted = handler;
};

// npm puts node_modules/.bin first in PATH, where the npm package `node` hides the system's Node.
const systemPath = (process.env.PATH ?? '').split(delimiter)
  .filter((dir) => !dir.endsWith(join('node_modules', '.bin')) && !dir.includes(`${sep}node-gyp-bin`))
  .join(delimiter);

const isExecutable = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** The full path of a program in PATH, or undefined. Looks only at the file system. */
export const which = (program) => systemPath.split(delimiter)
  .map((dir) => join(dir, program)).find(isExecutable);

/** The Node that the user has installed, even if npm's `node` package runs this script. */
export const systemNode = () => which('node') ?? process.execPath;

/** The newer Node of the npm package `node`. */
export const newerNode = () => join(root, 'node_modules/node/bin/node');

/**
 * Runs a command in the repository root, or in cwd, and resolves to { code, output }. show: its output goes to the terminal,
 * and `output` is empty. timeoutMs: after this time it is ended, with code 124.
 */
export const run = (command, args, { cwd = root, env = {}, show = false, timeoutMs = 0 } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, PATH: systemPath, ...env },
      stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
      detached: true,
    });
    if (child.pid) groups.add(child.pid);
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));

    let late = false;
    const timer = timeoutMs && setTimeout(() => {
      late = true;
      chunks.push(Buffer.from(`\nended after ${timeoutMs / 1000} s\n`));
      endGroup(child.pid, 'SIGKILL');
    }, timeoutMs);
    const settle = (action) => {
      clearTimeout(timer);
      groups.delete(child.pid);
      action();
    };
    child.on('error', (error) => settle(() => reject(new Stop(`${command}: ${error.message}`))));
    child.on('close', (code) => settle(() => resolve({
      code: late ? 124 : code ?? 1,
      output: Buffer.concat(chunks).toString(),
    })));
  });

/** Like run, but a failure is a Stop that carries the output. */
export const runOrStop = async (command, args, options) => {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new Stop(`${output}\n${[command, ...args].join(' ')}: exit code ${code}`);
  return output;
};

/** Runs a script's main function if `url` (import.meta.url) is the file that Node was started with. */
export const main = async (url, body) => {
  if (realpathSync(process.argv[1]) !== fileURLToPath(url)) return;
  try {
    await body(process.argv.slice(2));
  } catch (error) {
    const explained = error instanceof Stop || error.code?.startsWith('ERR_PARSE_ARGS');
    console.error(explained ? error.message : error);
    process.exitCode = 1;
  }
};
