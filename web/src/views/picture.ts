// Turns pictures into data addresses. Many pictures that seldom change cost a page less in this form than as canvases, as each
// canvas is a layer that is composited again in every frame.

let easel: HTMLCanvasElement | null = null;

export function addressOf(image: ImageData): string {
  easel ??= document.createElement('canvas');
  easel.width = image.width;
  easel.height = image.height;
  easel.getContext('2d')?.putImageData(image, 0, 0);
  return easel.toDataURL();
}
