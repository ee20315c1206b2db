// The program of docs/webgpu.md prints what stands beside it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib/proc.mjs';
import { blocksOf, saidBy } from '../../site/blocks.mjs';

test('docs/webgpu.md', () => {
  const name = 'docs/webgpu.md';
  const [block] = blocksOf(readFileSync(join(root, name), 'utf8'), name).filter(({ kind }) => kind === 'device program');
  mkdirSync(join(root, 'build/documents'), { recursive: true });
  const file = join(root, 'build/documents/webgpu.mjs'); /* inside the tree, where 'sinter' is found */
  writeFileSync(file, `${block.code}\nprocess.exit();\n`);
  const output = execFileSync(process.execPath, [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  assert.deepEqual(output.trimEnd().split('\n'), saidBy(block));
});
