// fresh.mjs - decides whether a built folder is up to date with its sources.
//
// After a build, a stamp keeps a digest of the inputs' paths, sizes and times as they were when the build began. While it
// matches and the outputs exist, the build is skipped.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './proc.mjs';

// The builds themselves make these, so they are never inputs.
const IGNORED = /^(node_modules|dist|generated|.*\.gen\.ts|.*\.tsbuildinfo)$/;

const files = (path) => {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stat) return [];
  if (!stat.isDirectory()) return [`${path} ${stat.size} ${stat.mtimeMs}`];
  return readdirSync(join(root, path)).sort().filter((name) => !IGNORED.test(name))
    .flatMap((name) => files(`${path}/${name}`));
};

const digest = (inputs) => createHash('sha256').update(inputs.flatMap(files).join('\n')).digest('hex');

/** Runs build() unless the outputs exist and were built from these inputs. Paths are relative to the root. */
export const buildUnlessFresh = async ({ name, inputs, outputs, build }) => {
  const stamp = join(root, 'build/stamps', name);
  const now = digest(inputs);
  const built = outputs.every((path) => existsSync(join(root, path)));
  if (built && existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return;
  rmSync(stamp, { force: true });
  await build();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
};
