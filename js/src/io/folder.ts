// Files that outlive a visit: in a page in the private file system of its origin, in Node in a folder.

import { UnsupportedError } from '../errors.js';
import { nodeModule } from '../runtime/environment.js';
import { nodeFiles, writeThrough } from './sources.js';

/** A folder of small files. */
export interface Folder {
  /** The bytes of a file; null if there is none of this name. */
  read(name: string): Promise<Uint8Array | null>;
  write(name: string, bytes: Uint8Array): Promise<void>;
}

async function openNode(op: string, path: string): Promise<Folder> {
  const files = nodeFiles(op);
  await files.mkdir(path, { recursive: true });
  return {
    read: (name) =>
      files.readFile(`${path}/${name}`).catch((error: { code?: string }) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      }),
    write: (name, bytes) => writeThrough(files, `${path}/${name}`, bytes),
  };
}

/** A file handle of workers, which writes in place; some versions of TypeScript's browser types do not have it. */
interface SyncHandle {
  truncate(size: number): void;
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
}

async function writeFile(op: string, handle: FileSystemFileHandle, bytes: Uint8Array): Promise<void> {
  const { createSyncAccessHandle } = handle as { createSyncAccessHandle?: () => Promise<SyncHandle> };
  if (typeof handle.createWritable === 'function') {
    const file = await handle.createWritable();
    try {
      await file.write(bytes as Uint8Array<ArrayBuffer>);
      await file.close();
    } catch (error) {
      await file.abort().catch(() => {});
      throw error;
    }
  } else if (createSyncAccessHandle) {
    const file = await createSyncAccessHandle.call(handle);
    try {
      file.truncate(0);
      for (let at = 0; at < bytes.length; ) at += file.write(bytes.subarray(at), { at });
      file.flush();
    } finally {
      file.close();
    }
  } else throw new UnsupportedError(op, 'this browser writes files in workers only');
}

async function openPage(op: string, path: string): Promise<Folder> {
  const storage = (globalThis as { navigator?: { storage?: StorageManager } }).navigator?.storage;
  if (typeof storage?.getDirectory !== 'function')
    throw new UnsupportedError(op, 'there is no private file system here', { hint: 'pages have one over https' });
  let folder = await storage.getDirectory();
  for (const name of path.split('/').filter(Boolean)) folder = await folder.getDirectoryHandle(name, { create: true });
  return {
    read: async (name) => {
      try {
        return new Uint8Array(await (await (await folder.getFileHandle(name)).getFile()).arrayBuffer());
      } catch (error) {
        if ((error as Error).name === 'NotFoundError') return null;
        throw error;
      }
    },
    write: async (name, bytes) => writeFile(op, await folder.getFileHandle(name, { create: true }), bytes),
  };
}

/** The folder of this name in a page, or at this path in Node; it is made if there is none. */
export const openFolder = (op: string, place: string): Promise<Folder> =>
  nodeModule('node:fs/promises') ? openNode(op, place) : openPage(op, place);
