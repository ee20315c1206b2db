// Paints 28 x 28 grey values on a canvas of the same size, as black ink on a transparent ground: the
// amount of ink is the opacity, and the dark page inverts it with a filter.

import { SIDE } from './rasterise.ts';

/** `scale` is the value of full ink: 1 for unit values, 255 for bytes. */
export function paintDigit(
  canvas: HTMLCanvasElement,
  pixels: ArrayLike<number>,
  scale: number,
): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const image = context.createImageData(SIDE, SIDE);
  for (let i = 0; i < pixels.length; i++) image.data[4 * i + 3] = (255 * pixels[i]) / scale;
  context.putImageData(image, 0, 0);
}
