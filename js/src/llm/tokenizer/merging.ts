// Merges neighbouring pieces, the best pair first, until no pair merges.
//
// The pieces are a doubly linked list, and a heap holds the pairs that may merge. A pair whose pieces changed since it was
// pushed is stale and skipped. So each merge costs the logarithm of the number of pieces.

/** The cost of merging a pair: the lowest merges first; undefined if the pair does not merge. */
type Cost = (left: string, right: string) => number | undefined;

interface Pair {
  cost: number;
  /** Index of the left piece. Of pairs with equal costs the leftmost merges first. */
  left: number;
  right: number;
  text: string;
}

const isBefore = (a: Pair, b: Pair): boolean => a.cost < b.cost || (a.cost === b.cost && a.left < b.left);

/** A binary heap with the best pair on top. */
class Pairs {
  readonly #heap: Pair[] = [];

  push(pair: Pair): void {
    const heap = this.#heap;
    let at = heap.push(pair) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(pair, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = pair;
  }

  pop(): Pair | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || !last) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

/** The pieces that are left when no pair of neighbours merges any more. */
export function merged(given: readonly string[], cost: Cost): string[] {
  const pieces = [...given];
  const next = pieces.map((_, i) => (i + 1 < pieces.length ? i + 1 : -1));
  const previous = pieces.map((_, i) => i - 1);
  const pairs = new Pairs();
  const offer = (left: number, right: number): void => {
    if (left < 0 || right < 0) return;
    const value = cost(pieces[left]!, pieces[right]!);
    if (value !== undefined) pairs.push({ cost: value, left, right, text: pieces[left]! + pieces[right]! });
  };
  for (let i = 1; i < pieces.length; i++) offer(i - 1, i);
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const { left, right, text } = pair;
    // A piece that was merged into an earlier one is ''.
    if (next[left] !== right || pieces[left] === '' || pieces[left]! + pieces[right]! !== text) continue;
    pieces[left] = text;
    pieces[right] = '';
    next[left] = next[right]!;
    if (next[left]! >= 0) previous[next[left]!] = left;
    offer(previous[left]!, left);
    offer(left, next[left]!);
  }
  return pieces.filter((piece) => piece !== '');
}
