// Pictures of pixels as addresses. Where many pictures seldom change, they cost a page less than canvases: each of those is a
// layer that is put together again in every frame.

let easel: HTMLCanvasElement | null = null;

export function addressOf(image: ImageData): string {
  easel ??= document.createElement('canvas');
  easel.width = image.width;
  easel.height = image.height;
  easel.getContext('2d')?.putImageData(image, 0, 0);
  return easel.toDataURL();
}
