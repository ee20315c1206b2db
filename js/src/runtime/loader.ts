// From a URL, bytes, a response or a module to a compiled module - or to an error that says what came
// instead of one: a server that answers every path with its start page is the commonest mistake.

import { SinterError } from '../errors.js';
import { isNode, nodeModule } from './environment.js';

/** The type of a global class's instances; never, where the declarations of the place do not have the class. */
type Made<Class> = Class extends { prototype: infer T } ? T : never;
export type Global<Name extends string> = typeof globalThis extends Record<Name, infer Class> ? Made<Class> : never;
type Wasm = typeof globalThis extends { WebAssembly: { Module: infer Class } } ? Made<Class> : never;

/** Where the wasm module comes from: a URL, bytes, a Response or a WebAssembly.Module. Types that the place has no
 *  declarations of (without "DOM" in lib) are left out. */
export type WasmSource = string | ArrayBuffer | ArrayBufferView | Global<'URL'> | Global<'Response'> | Wasm;

const COPY_HINT =
  'serve sinter.wasm, sinter-mt.wasm and worker.js of the package beside the bundle, pass init({ wasm: url }), ' +
  "or import from 'sinter/inline', which is one file";

async function compileBytes(bytes: BufferSource, name: string): Promise<WebAssembly.Module> {
  const head = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64))
    : new Uint8Array(bytes, 0, Math.min(bytes.byteLength, 64));
  if (head[0] !== 0 || head[1] !== 0x61 || head[2] !== 0x73 || head[3] !== 0x6d) {
    const text = String.fromCharCode(...head).trimStart();
    const what = text.startsWith('<') ? 'HTML' : 'something that is not a WebAssembly module';
    throw new SinterError('load', 'init', `the server returned ${what} for ${name}`, { hint: COPY_HINT });
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw compileError(name, cause);
  }
}

function compileError(name: string, cause: unknown): SinterError {
  return new SinterError('load', 'init', `the engine does not compile ${name}: ${String(cause)}`, {
    hint: "a content security policy needs script-src 'wasm-unsafe-eval'",
    cause,
  });
}

async function compileResponse(response: Response, name: string): Promise<WebAssembly.Module> {
  if (!response.ok) {
    throw new SinterError('load', 'init', `the server answered ${response.status} for ${name}`, {
      hint: COPY_HINT,
    });
  }
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/wasm') && typeof WebAssembly.compileStreaming === 'function') {
    // The copy is for servers that send something else under this type.
    const copy = response.clone();
    try {
      return await WebAssembly.compileStreaming(response);
    } catch {
      return compileBytes(await copy.arrayBuffer(), name);
    }
  }
  return compileBytes(await response.arrayBuffer(), name);
}

async function compileUrl(url: URL): Promise<WebAssembly.Module> {
  const files = nodeModule('node:fs/promises');
  try {
    if (files && url.protocol === 'file:') return await compileBytes(await files.readFile(url), url.href);
    return await compileResponse(await fetch(url), url.href);
  } catch (cause) {
    if (cause instanceof SinterError) throw cause;
    throw new SinterError('load', 'init', `cannot load ${url.href}: ${String(cause)}`, {
      hint: COPY_HINT,
      cause,
    });
  }
}

function parseUrl(text: string): URL {
  const base = isNode ? undefined : globalThis.location?.href;
  try {
    return new URL(text, base);
  } catch (cause) {
    throw new SinterError('argument', 'init', `wasm: ${text} is not a URL`, { cause });
  }
}

export async function loadModule(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof URL) return compileUrl(source);
  if (typeof source === 'string') return compileUrl(parseUrl(source));
  if (typeof Response === 'function' && source instanceof Response) {
    return compileResponse(source, source.url || 'the given response');
  }
  // Compilers refuse views of shared memory themselves.
  if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer)
    return compileBytes(source as BufferSource, 'the given bytes');
  throw new SinterError('argument', 'init', 'wasm must be a URL, bytes, a Response or a WebAssembly.Module');
}

/** Whether a compiled module is the one for shared memory. */
export const isThreaded = (module: WebAssembly.Module): boolean =>
  WebAssembly.Module.exports(module).some(({ name }) => name === 'sn_worker_enter');

/** Awaits a promise that by itself would not keep a Node process from ending, e.g. of a compilation. */
export async function awaitAlive<T>(promise: Promise<T>): Promise<T> {
  const timer = isNode ? setInterval(() => {}, 60_000) : 0;
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}
