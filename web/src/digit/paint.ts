// Paints 28 x 28 grey values on a canvas of the same size, as black ink on a transparent ground: the
// amount of ink is the opacity, and the dark page inverts it with a filter.

import { addressOf } from '../views/picture.ts';
import { SIDE } from './rasterise.ts';

function inked(pixels: ArrayLike<number>, scale: number): ImageData {
  const image = new ImageData(SIDE, SIDE);
  for (let i = 0; i < pixels.length; i++) image.data[4 * i + 3] = (255 * pixels[i]) / scale;
  return image;
}

/** `scale` is the value of full ink: 1 for unit values, 255 for bytes. */
export function paintDigit(
  canvas: HTMLCanvasElement,
  pixels: ArrayLike<number>,
  scale: number,
): void {
  canvas.getContext('2d')?.putImageData(inked(pixels, scale), 0, 0);
}

/** The same as the address of a picture. */
export const digitAddress = (pixels: ArrayLike<number>, scale: number): string => addressOf(inked(pixels, scale));
