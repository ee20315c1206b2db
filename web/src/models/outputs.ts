// The outputs of a model, drawn: scores of classes as bars, a picture as a picture, and everything as numbers.

import { create } from '../views/dom.ts';
import { count, short } from '../views/format.ts';
import type { Output } from './protocol.ts';

/** The number of classes that are shown, and the largest size that is taken for a number of classes. */
const BEST = 8;
const MOST_CLASSES = 4096;
const LEAST_SIDE = 8;
const [MOST_ROWS, MOST_COLUMNS] = [8, 12];

function softmax(scores: ArrayLike<number>): number[] {
  const list = Array.from(scores);
  const top = Math.max(...list);
  const weights = list.map((score) => Math.exp(score - top));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** The scores of the first example if the output looks like scores of classes, otherwise null. */
function scoresOf({ shape, values }: Output): Float32Array | null {
  const last = shape.at(-1) ?? 0;
  const isRow = shape.every((size, axis) => axis === shape.length - 1 || size === 1);
  const isRows = shape.length === 2;
  return last >= 2 && last <= MOST_CLASSES && (isRow || isRows) ? values.subarray(0, last) : null;
}

function bars(output: Output, scores: Float32Array, classes: readonly string[]): HTMLElement {
  const sum = scores.reduce((a, b) => a + b, 0);
  const areShares = scores.every((score) => score >= 0 && score <= 1) && Math.abs(sum - 1) < 0.01;
  const shares = areShares ? Array.from(scores) : softmax(scores);
  const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, BEST);
  const list = create('ul', 'models-bars');
  for (const i of best) {
    const fill = create('i', '');
    fill.style.transform = `scaleX(${shares[i]})`;
    const row = create('li', i === best[0] ? 'best' : '', create('span', 'name', classes[i] ?? String(i)), create('span', 'track', fill), create('span', 'value', `${(100 * shares[i]).toFixed(1)} %`));
    row.title = `${output.name}[${i}] = ${short(scores[i], 5)}`;
    list.append(row);
  }
  list.dataset.best = String(best[0]);
  const what = areShares ? 'probabilities' : 'softmax of the scores';
  return create('div', '', create('p', 'foot', `The likeliest of ${count(scores.length)} classes, ${what}${output.shape.length === 2 && output.shape[0] > 1 ? ', of the first example' : ''}.`), list);
}

/** The sizes of a picture and the place of its channels if the output looks like a picture and all of it was sent, otherwise null. */
function pictureOf({ shape, values }: Output): { channels: number; height: number; width: number; isFirst: boolean } | null {
  const rank = shape.length;
  if (rank < 2 || rank > 4) return null;
  const [c, h, w] = rank === 2 ? [1, ...shape] : shape.slice(-3);
  if (c * h * w > values.length) return null;
  const isSide = (size: number): boolean => size >= LEAST_SIDE;
  if ((c === 1 || c === 3) && isSide(h) && isSide(w)) return { channels: c, height: h, width: w, isFirst: true };
  return (w === 1 || w === 3) && isSide(c) && isSide(h) ? { channels: w, height: c, width: h, isFirst: false } : null;
}

function picture(output: Output, { channels, height, width, isFirst }: NonNullable<ReturnType<typeof pictureOf>>): HTMLElement {
  const canvas = create('canvas', 'models-picture');
  canvas.width = width;
  canvas.height = height;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Output ${output.name} as a picture`);
  const values = output.values.subarray(0, channels * height * width);
  const [least, most] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const context = canvas.getContext('2d');
  const image = context?.createImageData(width, height);
  if (context && image) {
    for (let i = 0; i < width * height; i++) {
      for (let c = 0; c < 3; c++) {
        const from = c % channels;
        const value = values[isFirst ? from * width * height + i : i * channels + from];
        image.data[4 * i + c] = (255 * (value - least)) / (most - least || 1);
      }
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }
  return create('div', '', canvas, create('p', 'foot', `From ${short(least)} (dark) to ${short(most)} (light).`));
}

function table({ shape, values }: Output): HTMLElement {
  const columns = Math.min(shape.at(-1) ?? 1, MOST_COLUMNS);
  const width = shape.at(-1) ?? 1;
  const rows = Math.min(Math.ceil(values.length / Math.max(1, width)), MOST_ROWS);
  const body = create('tbody', '');
  for (let row = 0; row < rows; row++) {
    const cells = Array.from({ length: columns }, (_, column) => create('td', '', short(values[row * width + column], 4)));
    if (columns < width) cells.push(create('td', '', '…'));
    body.append(create('tr', '', ...cells));
  }
  return create('div', 'models-numbers', create('table', '', body));
}

function drawn(output: Output, classes: readonly string[]): HTMLElement {
  if (output.dtype === 'text') return create('p', 'foot', 'Texts, or a list of tensors, which are not drawn.');
  if (output.values.length === 0) return create('p', 'foot', 'Empty.');
  const scores = scoresOf(output);
  if (scores?.some(Number.isNaN) === true || scores?.includes(Infinity) === true)
    return create('div', '', create('p', 'foot', 'Not all of the scores are finite: no class is the likeliest.'), table(output));
  if (scores !== null) return bars(output, scores, classes);
  const place = pictureOf(output);
  return place === null ? table(output) : picture(output, place);
}

/** classes: the names of the classes that scores belong to, as far as they are known. */
export function showOutputs(root: HTMLElement, outputs: readonly Output[], classes: readonly string[]): void {
  root.replaceChildren(...outputs.map((output) => {
    const own = create('section', 'model-output', create('h3', '', output.name, ` ${output.shape.join(' × ') || 'one number'}${output.dtype === 'float32' ? '' : ` ${output.dtype}`}`), drawn(output, classes));
    own.dataset.name = output.name;
    own.dataset.values = Array.from(output.values.subarray(0, 16)).join(' ');
    return own;
  }));
}
