// The programs for a device in the documents print what stands beside them: the blocks of a document are one program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib/proc.mjs';
import { blocksOf, saidBy } from '../../site/blocks.mjs';

mkdirSync(join(root, 'build/documents'), { recursive: true });

for (const name of ['docs/webgpu.md', 'docs/tutorials/gpu.md']) {
  test(name, () => {
    const blocks = blocksOf(readFileSync(join(root, name), 'utf8'), name).filter(({ kind }) => kind === 'device program');
    const file = join(root, `build/documents/device-${name.replaceAll(/[/.]/g, '-')}.mjs`); /* inside the tree, where 'sinter' is found */
    writeFileSync(file, `${blocks.map(({ code }) => code).join('\n')}\nprocess.exit();\n`);
    const output = execFileSync(process.execPath, [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    assert.deepEqual(output.trimEnd().split('\n'), blocks.flatMap(saidBy));
  });
}
