// Paints 28 x 28 grey values on a canvas of that size, as black ink on a transparent background: the amount of ink is the
// opacity. In the dark theme a filter inverts it.

import { addressOf } from '../views/picture.ts';
import { SIDE } from './rasterise.ts';

function inked(pixels: ArrayLike<number>, scale: number): ImageData {
  const image = new ImageData(SIDE, SIDE);
  for (let i = 0; i < pixels.length; i++) image.data[4 * i + 3] = (255 * pixels[i]) / scale;
  return image;
}

/** scale: the value of full ink, 1 for unit values, 255 for bytes. */
export function paintDigit(
  canvas: HTMLCanvasElement,
  pixels: ArrayLike<number>,
  scale: number,
): void {
  canvas.getContext('2d')?.putImageData(inked(pixels, scale), 0, 0);
}

/** The same picture as an address for an image. */
export const digitAddress = (pixels: ArrayLike<number>, scale: number): string => addressOf(inked(pixels, scale));
