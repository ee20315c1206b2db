// Finds the objects of the heap that a run can reach, by following pointers from the root, a word at a time. A number that
// only looks like a pointer keeps an object too many, but none is ever missed.

export interface Block {
  address: number;
  size: number;
}

/** The index of the largest begin that is at most address, or -1. */
function last(begins: readonly number[], address: number): number {
  let low = 0;
  let high = begins.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (begins[middle]! <= address) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The blocks that are reached from the words at root, by ascending addresses; a pointer may point into a block. */
export function reached(memory: WebAssembly.Memory, blocks: ReadonlyMap<number, number>, root: { address: number; words: number }): Block[] {
  const all = [...blocks].map(([address, size]) => ({ address, size })).sort((a, b) => a.address - b.address);
  const begins = all.map(({ address }) => address);
  const found = new Set<Block>();
  const words = new Int32Array(memory.buffer);
  const todo: Block[] = [{ address: root.address, size: root.words * 4 }];
  for (let block = todo.pop(); block; block = todo.pop()) {
    for (let at = block.address >>> 2; at < (block.address + block.size) >>> 2; at++) {
      const pointer = words[at]! >>> 0;
      const met = all[last(begins, pointer)];
      if (!met || pointer >= met.address + met.size || found.has(met)) continue;
      found.add(met);
      todo.push(met);
    }
  }
  return [...found].sort((a, b) => a.address - b.address);
}

/** The pieces of bytes that are not all 0. They are apart by more than GAP zeros, about the cost of a piece of its own. */
export function pieces(bytes: Uint8Array, address: number): { address: number; bytes: Uint8Array }[] {
  const GAP = 16;
  const out: { address: number; bytes: Uint8Array }[] = [];
  let begin = -1;
  let end = 0;
  const close = (): void => {
    if (begin >= 0) out.push({ address: address + begin, bytes: bytes.slice(begin, end) });
  };
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === 0) continue;
    if (begin < 0 || i - end > GAP) {
      close();
      begin = i;
    }
    end = i + 1;
  }
  close();
  return out;
}
