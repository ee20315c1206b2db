// setup.mjs - the only set-up step, called first by start, build, test and bench.
//
// It looks (only at files, in well under a second) and acts only on what is missing:
//   npm packages      npm ci, when package-lock.json differs from the one last installed
//   system packages   apt-get as root on Debian; otherwise it prints the command to run, and stops
// It runs before anything is installed, so it imports node: built-ins only.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stop, main, root, runOrStop, which } from './lib/proc.mjs';

/** The first versions with process.getBuiltinModule, by which the package loads Node's modules. */
const OLDEST_NODE = '20.16, or 22.3,';

// The programs that each part of the work calls, and the Debian packages that contain them.
const program = (...names) => () => names.some(which);
const file = (name, ...dirs) => () => dirs.some((dir) => existsSync(join(dir, name)));
const header = (name) => file(name, '/usr/include', '/usr/local/include', '/opt/homebrew/include');
const NATIVE = [
  [program('cc'), 'build-essential'],
  [program('c++'), 'build-essential'],
  [program('cmake'), 'cmake'],
  [program('ninja'), 'ninja-build'],
  [header('cmocka.h'), 'libcmocka-dev'],
];
const NEEDS = {
  wasm: [
    [program('emcc'), 'emscripten'],
    [program('cmake'), 'cmake'],
    [program('ninja'), 'ninja-build'],
  ],
  native: NATIVE,
  mpi: [...NATIVE, [program('mpicc'), 'libopenmpi-dev'], [program('mpirun'), 'openmpi-bin']],
  valgrind: [...NATIVE, [header('valgrind/memcheck.h'), 'valgrind'], [program('valgrind'), 'valgrind']],
  coverage: [...NATIVE, [program('gcovr'), 'gcovr']],
  browsers: [
    [program('chromium'), 'chromium'],
    [program('firefox-esr', 'firefox'), 'firefox-esr'],
  ],
  onnx: [
    [program('xz'), 'xz-utils'],
  ],
  neon: [
    [program('aarch64-linux-gnu-gcc'), 'gcc-aarch64-linux-gnu'],
    [program('aarch64-linux-gnu-g++'), 'g++-aarch64-linux-gnu'],
    [program('qemu-aarch64'), 'qemu-user'],
    [program('cmake'), 'cmake'],
    [program('ninja'), 'ninja-build'],
    [file('libcmocka.so', '/usr/lib/aarch64-linux-gnu'), 'libcmocka-dev:arm64'],
  ],
};
const USUAL = ['wasm', 'native', 'browsers', 'onnx'];

const missingPackages = (parts) => [...new Set(parts.flatMap((part) => NEEDS[part])
  .filter(([present]) => !present()).map(([, name]) => name))];

const systemPackages = async (parts) => {
  const missing = missingPackages(parts);
  if (!missing.length) return;
  const install = ['install', '--no-install-recommends', '-y', ...missing];
  const foreign = missing.some((name) => name.endsWith(':arm64')) ? ['--add-architecture', 'arm64'] : null;
  if (!existsSync('/etc/debian_version') || !which('apt-get') || process.getuid?.() !== 0) {
    throw new Stop(`These system packages are missing. Install them and run this again:\n\n` +
      `  ${foreign ? `sudo dpkg ${foreign.join(' ')} && ` : ''}sudo apt-get update && sudo apt-get ${install.join(' ')}\n\n` +
      `(Debian's names; on other systems the packages that bring the same programs.)`);
  }
  console.log(`Installing system packages: ${missing.join(' ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  if (foreign) await runOrStop('dpkg', foreign);
  await runOrStop('apt-get', ['update'], { env });
  await runOrStop('apt-get', install, { env });
  const still = missingPackages(parts);
  if (still.length) throw new Stop(`apt-get installed them, but still missing: ${still.join(' ')}`);
};

const npmPackages = async () => {
  const lock = join(root, 'package-lock.json');
  const stamp = join(root, 'node_modules/.sinter-setup');
  const digest = () => createHash('sha256').update(readFileSync(lock)).digest('hex');
  if (existsSync(lock) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest()) return;
  console.log('Installing npm packages');
  await runOrStop('npm', [existsSync(lock) ? 'ci' : 'install']);
  writeFileSync(stamp, digest());
};

/** Makes sure that the npm packages and the programs of these parts (keys of NEEDS) are installed. */
export const setup = async (parts) => {
  if (!process.getBuiltinModule) {
    throw new Stop(`Node ${OLDEST_NODE} or newer is needed; this is ${process.version}`);
  }
  await systemPackages(parts);
  await npmPackages();
};

await main(import.meta.url, () => setup(USUAL));
