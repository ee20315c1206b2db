// What kind of place the code runs in, and the few Node functions it uses. Node's modules are asked
// for through process.getBuiltinModule: a static import would break browsers, a dynamic one bundlers.

/** A Node worker: the part that is used here. */
export interface NodeWorker {
  on(event: 'message', listener: (message: unknown) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  on(event: 'exit', listener: (code: number) => void): void;
  postMessage(message: unknown): void;
  /** Missing in some engines that call themselves Node. */
  performance?: { eventLoopUtilization?(): { idle: number; active: number } };
  terminate(): Promise<number>;
  ref(): void;
  unref(): void;
}

/** An open file of Node. */
export interface NodeFile {
  writeFile(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  stat(): Promise<{ size: number }>;
  read(buffer: Uint8Array<ArrayBuffer>, offset: number, length: number, position: number): Promise<{ bytesRead: number; buffer: Uint8Array }>;
  close(): Promise<void>;
}

interface NodeModules {
  'node:worker_threads': {
    Worker: new (url: URL, options: object) => NodeWorker;
    parentPort: {
      once(event: 'message', listener: (message: unknown) => void): void;
      postMessage(message: unknown, transfer: ArrayBuffer[]): void;
    } | null;
  };
  'node:fs/promises': {
    readFile(path: URL | string): Promise<Uint8Array<ArrayBuffer>>;
    writeFile(path: URL | string, bytes: Uint8Array): Promise<void>;
    stat(path: URL | string): Promise<{ isFile(): boolean }>;
    open(path: URL | string, flags: string): Promise<NodeFile>;
    rename(from: URL | string, to: URL | string): Promise<void>;
    rm(path: URL | string, options: object): Promise<void>;
    mkdir(path: string, options: object): Promise<unknown>;
  };
  'node:module': { createRequire(from: string): (path: string) => unknown };
  'node:os': { availableParallelism(): number; homedir(): string };
}

interface NodeProcess {
  versions?: { node?: string };
  env?: { SINTER_POISON?: string; SINTER_DEBUG?: string; XDG_CACHE_HOME?: string };
  getBuiltinModule?<K extends keyof NodeModules>(name: K): NodeModules[K];
}

const nodeProcess = (globalThis as { process?: NodeProcess }).process;

export const isNode =
  nodeProcess?.versions?.node !== undefined && typeof nodeProcess.getBuiltinModule === 'function';

/** A module of Node, or null elsewhere. */
export function nodeModule<K extends keyof NodeModules>(name: K): NodeModules[K] | null {
  return isNode ? (nodeProcess?.getBuiltinModule?.(name) ?? null) : null;
}

/** Not in Deno, which would ask its user whether the package may read the environment. */
const environment = isNode && !('Deno' in globalThis) ? nodeProcess?.env : undefined;

/** Whether memory is to be filled with NaN before it is written, so that tests see a missing store. */
export const poisons = environment?.SINTER_POISON === '1';

/** The level of debug output to start with. */
export const debugAsked = /^[0-6]$/.test(environment?.SINTER_DEBUG ?? '') ? Number(environment?.SINTER_DEBUG) : 0;

/** The main thread of a page: it must neither block nor sleep. */
export const isPage = typeof document === 'object' && !isNode;

/** Where to keep files of this name that can be made again: a folder in the user's cache in Node, the name itself elsewhere. */
export function cachePlace(name: string): string {
  const os = nodeModule('node:os');
  return os ? `${environment?.XDG_CACHE_HOME || `${os.homedir()}/.cache`}/${name}` : name;
}
