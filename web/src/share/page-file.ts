// The shown program as one HTML file that opens with a double click: the code of web/src/offline with the package inside, the
// program as JavaScript, its settings, and the data that it uses, compressed.

import code from 'virtual:offline';
import { DATA_IDS, PACKED_DIGITS, type Contents } from '../offline/contents.ts';
import { entry } from '../program/list.ts';
import type { ShownProgram } from '../program/shown.ts';
import { stripTypes } from '../program/workers/strip.ts';
import { PIXELS, loadMnist } from '../trainer/mnist.ts';

const TEXT_URL = new URL('../../text/sonnets.txt', import.meta.url).href;
const MNIST_URL = new URL('mnist/', document.baseURI).href;

async function fetched(address: string): Promise<Response> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  return response;
}

/** Bytes compressed with deflate, as base64. */
async function packed(bytes: BlobPart): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const blob = new Blob([await new Response(stream).arrayBuffer()]);
  const address = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the data could not be packed')));
    reader.readAsDataURL(blob);
  });
  return address.slice(address.indexOf(',') + 1);
}

/** A part of the digits: images and then labels, first of the training set, then of the test set. */
async function digits(): Promise<BlobPart> {
  const { train, test } = await loadMnist(MNIST_URL, () => undefined);
  const part = ({ images, labels }: typeof train, count: number): BlobPart[] =>
    [images.subarray(0, count * PIXELS), labels.subarray(0, count)] as BlobPart[];
  return new Blob([...part(train, PACKED_DIGITS.train), ...part(test, PACKED_DIGITS.test)]);
}

/** The data that the program uses, found by the names that it imports. */
async function dataOf(text: string): Promise<string> {
  const imported = /import\s*\{([^}]*)\}\s*from\s*['"]playground['"]/.exec(text)?.[1] ?? '';
  const element = async (id: string, bytes: BlobPart): Promise<string> => `<script type="text/plain" id="${id}">${await packed(bytes)}</script>\n`;
  const parts: string[] = [];
  if (/\bdigits\b/.test(imported)) parts.push(await element(DATA_IDS.digits, await digits()));
  if (/\bsonnets\b/.test(imported)) parts.push(await element(DATA_IDS.text, await (await fetched(TEXT_URL)).arrayBuffer()));
  return parts.join('');
}

/** Text inside a script element must not contain anything that looks like its end. */
const withinScript = (text: string): string => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const asJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

export async function pageFile({ name, text, settings }: ShownProgram): Promise<string> {
  const contents: Contents = {
    title: entry(name)?.title ?? name,
    text,
    code: stripTypes(text),
    settings,
    address: location.origin + location.pathname,
  };
  const [script, data] = await Promise.all([fetched(code).then((response) => response.text()), dataOf(text)]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sinter</title>
<link rel="icon" href="data:,">
</head>
<body>
<script type="application/json" id="contents">${asJson(contents)}</script>
${data}<script type="module">
${withinScript(script)}
</script>
</body>
</html>
`;
}
