// Loads MNIST: four gzipped idx files, fetched and unpacked as streams, in parallel.

/** The side of an image, in pixels. */
export const SIDE = 28;
export const PIXELS = SIDE * SIDE;

export interface Digits {
  count: number;
  /** count x 784 bytes, 0 = paper. */
  images: Uint8Array;
  /** count classes, 0..9. */
  labels: Uint8Array;
}

export interface Mnist {
  train: Digits;
  test: Digits;
}

export type OnProgress = (received: number, total: number) => void;

const IDX_UBYTE = 0x08;

/** The payload of an idx file of unsigned bytes; checks its header against its length. */
function parseIdx(name: string, bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rank = bytes.length >= 4 ? bytes[3] : 0;
  const header = 4 + 4 * rank;
  if (bytes.length < header || view.getUint16(0) !== 0 || bytes[2] !== IDX_UBYTE)
    throw new Error(`${name}: not an idx file of bytes`);
  let size = 1;
  for (let d = 0; d < rank; d++) size *= view.getUint32(4 + 4 * d);
  if (bytes.length !== header + size) throw new Error(`${name}: cut short`);
  return bytes.subarray(header);
}

/** Adds up the transfers of several files into one progress report. */
class Transfers {
  private received = 0;
  private total = 0;

  constructor(private readonly report: OnProgress) {}

  expect(bytes: number): void {
    this.total += bytes;
  }

  counter(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (chunk, controller) => {
        this.received += chunk.byteLength;
        this.report(this.received, Math.max(this.total, this.received));
        controller.enqueue(chunk);
      },
    });
  }
}

async function load(url: URL, transfers: Transfers): Promise<Uint8Array> {
  const name = url.pathname.split('/').pop() ?? url.href;
  const response = await fetch(url);
  if (!response.ok || response.body === null)
    throw new Error(`${name}: the server answered ${response.status} ${response.statusText}`);
  transfers.expect(Number(response.headers.get('content-length') ?? 0));
  const unpacked = response.body
    .pipeThrough(transfers.counter())
    .pipeThrough(new DecompressionStream('gzip'));
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await new Response(unpacked).arrayBuffer());
  } catch (cause) {
    const type = response.headers.get('content-type') ?? 'an unknown type';
    throw new Error(`${name}: not a gzip file (the server sent ${type})`, { cause });
  }
  return parseIdx(name, bytes);
}

export async function loadMnist(folder: string, report: OnProgress): Promise<Mnist> {
  const transfers = new Transfers(report);
  const part = async (prefix: string): Promise<Digits> => {
    const [images, labels] = await Promise.all([
      load(new URL(`${prefix}-images.bin`, folder), transfers),
      load(new URL(`${prefix}-labels.bin`, folder), transfers),
    ]);
    if (images.length !== labels.length * PIXELS)
      throw new Error(`${prefix}: ${labels.length} labels do not fit ${images.length} pixels`);
    return { count: labels.length, images, labels };
  };
  const [train, test] = await Promise.all([part('train'), part('test')]);
  return { train, test };
}
