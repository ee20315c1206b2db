// Turns a picture into the numbers of an input: crops or scales it to the input's size. Visible settings say what the numbers
// mean.

import type { Port } from './protocol.ts';

export const SCALES = {
  unit: { name: '0 to 1', mean: [0, 0, 0], deviation: [1, 1, 1] },
  signed: { name: '−1 to 1', mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] },
  imagenet: { name: 'mean and deviation of ImageNet', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] },
  bytes: { name: '0 to 255', mean: [0, 0, 0], deviation: [1 / 255, 1 / 255, 1 / 255] },
} as const;
export type Scale = keyof typeof SCALES;

export const FITS = { cover: 'cut to fit', contain: 'whole, with borders', stretch: 'stretched' } as const;
export type Fit = keyof typeof FITS;

export interface PictureSettings {
  scale: Scale;
  fit: Fit;
  order: 'rgb' | 'bgr';
  inverted: boolean;
}

/** The axes of an input that hold the parts of a picture. */
export interface PictureAxes {
  channels: number;
  height: number;
  width: number;
}

/** The axes if the input may be a picture, otherwise null. */
export function pictureAxes({ dtype, shape }: Port): PictureAxes | null {
  if (shape === null || !['float', 'float16', 'double', 'uint8', ''].includes(dtype)) return null;
  const rank = shape.length;
  if (rank !== 4 && rank !== 3) return null;
  const first = rank - 3;
  const isColour = (size: number | string): boolean => size === 1 || size === 3;
  const isSide = (size: number | string): boolean => typeof size === 'string' || size >= 8;
  if (isColour(shape[first]) && isSide(shape[first + 1]) && isSide(shape[first + 2])) return { channels: first, height: first + 1, width: first + 2 };
  if (isColour(shape[rank - 1]) && isSide(shape[first]) && isSide(shape[first + 1])) return { channels: rank - 1, height: first, width: first + 1 };
  return null;
}

/** Where a picture of one size is drawn in a frame of another: x, y, width, height. */
function placed(fit: Fit, from: readonly [number, number], to: readonly [number, number]): [number, number, number, number] {
  if (fit === 'stretch') return [0, 0, ...to];
  const across = to[0] / from[0];
  const down = to[1] / from[1];
  const scale = fit === 'cover' ? Math.max(across, down) : Math.min(across, down);
  const [width, height] = [from[0] * scale, from[1] * scale];
  return [(to[0] - width) / 2, (to[1] - height) / 2, width, height];
}

/** Draws a picture into a canvas of the given size, as the model will see it. */
export function drawFitted(canvas: HTMLCanvasElement, source: CanvasImageSource, size: readonly [number, number], fit: Fit, width: number, height: number): void {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) return;
  context.fillStyle = '#000';
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(source, ...placed(fit, size, [width, height]));
}

/** The numbers of what a canvas shows, in the order of the axes. */
export function numbersOf(canvas: HTMLCanvasElement, shape: readonly number[], axes: PictureAxes, { scale, order, inverted }: PictureSettings): Float32Array {
  const { width, height } = canvas;
  const pixels = canvas.getContext('2d')?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray(4 * width * height);
  const channels = shape[axes.channels];
  const { mean, deviation } = SCALES[scale];
  const values = new Float32Array(channels * width * height);
  const isFirst = axes.channels < axes.height;
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < channels; c++) {
      const from = order === 'bgr' ? 2 - c : c;
      const byte = channels === 1 ? 0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2] : pixels[4 * i + from];
      const value = (inverted ? 255 - byte : byte) / 255;
      values[isFirst ? c * width * height + i : i * channels + c] = (value - mean[from % 3]) / deviation[from % 3];
    }
  }
  return values;
}

/** Decodes a file as a picture. If that fails, throws an error with a sentence for the visitor. */
export async function pictureOf(file: Blob & { name?: string }): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name ?? 'This file'} is no picture that this browser can read.`);
  }
}
