// wasm-bytes.mjs - the few parts of WebAssembly's binary format that the build reads and writes itself.

/** Section numbers. */
export const SECTION = { custom: 0, import: 2, function: 3, export: 7, element: 9, code: 10 };

export const uleb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...uleb(value >>> 7)]);

/** Reads on from `at`. */
export class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  take(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }

  name() {
    return this.take(this.number()).toString('utf8');
  }
}

/** The sections of a module: number, bytes with its head, and a reader of what it holds. */
export function* sections(bytes) {
  const reader = new Reader(bytes, 8); // behind magic number and version
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = reader.byte();
    const size = reader.number();
    const content = new Reader(bytes, reader.at);
    reader.at += size;
    yield { id, bytes: bytes.subarray(start, reader.at), content };
  }
}

export const section = (id, content) => Buffer.from([id, ...uleb(content.length), ...content]);
