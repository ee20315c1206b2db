// The data inside a page in one file, in the form that programs import from 'playground'.

import type * as declared from 'playground';
import { digitData } from '../trainer/digits.ts';
import { PIXELS, type Digits } from '../trainer/mnist.ts';
import { corpusOf, textData } from '../trainer/text.ts';
import { DATA_IDS, PACKED_DIGITS, type Packed } from './contents.ts';

let held: Packed = {};

/** Sets the data that the file contains. */
export function hold(packed: Packed): void {
  held = packed;
}

async function unpacked(id: string): Promise<Uint8Array> {
  const packed = held[id] ?? '';
  if (packed === '') throw new Error('this file was made of a program without these data');
  const bytes = Uint8Array.from(atob(packed.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The data are images and then labels, first of the training set, then of the test set. */
export async function digits({ batch, seed = 0, shape = [784] }: Parameters<typeof declared.digits>[0]): Promise<declared.Data> {
  const all = await unpacked(DATA_IDS.digits);
  let at = 0;
  const take = (size: number): Uint8Array => all.subarray(at, (at += size));
  const part = (count: number): Digits => ({ count, images: take(count * PIXELS), labels: take(count) });
  return digitData({ train: part(PACKED_DIGITS.train), test: part(PACKED_DIGITS.test) }, { batch, seed, shape });
}

export async function sonnets({ batch, context, seed = 0 }: Parameters<typeof declared.sonnets>[0]): Promise<declared.Data> {
  const text = new TextDecoder().decode(await unpacked(DATA_IDS.text));
  return textData(corpusOf(text), { batch, context, seed });
}
