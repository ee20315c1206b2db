// Datasets of files: records of a fixed number of bytes, or lines of text. Of a Blob only what an item needs is read, so
// that a file of an input element need not fit in memory; other sources are read once, and kept.

import { checkInteger, shown } from '../check.js';
import { SinterError } from '../errors.js';
import { tensor } from '../functions.gen.js';
import { read, storageError, type ByteSource } from '../io/sources.js';
import { readOptions } from '../options.js';
import { Dataset, from, ofRows } from './dataset.js';

const blobOf = async (source: ByteSource): Promise<Blob> => (source instanceof Blob ? source : new Blob([(await read(source)) as Uint8Array<ArrayBuffer>]));

export interface RecordOptions {
  /** Bytes before the first record; default 0. */
  skip?: number;
}

/**
 * The records of a file, with a fixed number of bytes each, as Uint8Arrays; batch makes uint8 tensors (n, bytes) of them.
 * They are shuffled as a whole, and a pass starts at any place without reading the records before:
 * fromRecords(file, 3073).then((set) => set.shuffle(key).batch(64)).
 */
export async function fromRecords(source: ByteSource, bytes: number, options?: RecordOptions): Promise<Dataset<Uint8Array>> {
  const op = 'data.fromRecords';
  const { skip = 0 } = readOptions<RecordOptions>(op, options, { skip: 'integer' });
  checkInteger(op, 'the number of bytes', bytes, 1);
  checkInteger(op, 'skip', skip, 0);
  const blob = await blobOf(source);
  const count = (blob.size - skip) / bytes;
  if (!Number.isInteger(count) || count < 0)
    throw new SinterError('argument', op, `${blob.size} bytes are not ${shown(skip)} and whole records of ${bytes}`);
  const item = async (row: number): Promise<Uint8Array> => {
    const at = skip + row * bytes;
    try {
      return new Uint8Array(await blob.slice(at, at + bytes).arrayBuffer());
    } catch (cause) {
      throw storageError(op, cause);
    }
  };
  return ofRows(count, {
    order: async () => Int32Array.from({ length: count }, (_, i) => i),
    item,
    gather: async (rows) => {
      const all = new Uint8Array(rows.length * bytes);
      (await Promise.all(Array.from(rows, item))).forEach((each, i) => all.set(each, i * bytes));
      return tensor(all, { shape: [rows.length, bytes] });
    },
  });
}

async function* linesOf(blob: Blob): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = blob.stream().getReader();
  let rest = '';
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + decoder.decode(part.value, { stream: true })).split(/\r?\n/);
      rest = lines.pop()!;
      yield* lines;
    }
    rest += decoder.decode();
    if (rest) yield rest;
  } catch (cause) {
    throw storageError('data.fromLines', cause);
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** The lines of a UTF-8 text, without line ends. Continuing at a place reads the lines before it again. */
export function fromLines(source: ByteSource): Dataset<string> {
  let blob: Promise<Blob> | undefined;
  return from(async function* () {
    yield* linesOf(await (blob ??= blobOf(source)));
  });
}
