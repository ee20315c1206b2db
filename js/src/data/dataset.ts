// sn.data: datasets, built from a source by steps: fromArrays(...).shuffle(key).batch(32).map(f).prefetch(2).
//
// A dataset is a recipe: it can be gone through any number of times, and the items of each pass follow from the pass's
// number and the keys alone. So a place in it is two numbers, and continuing at a place is starting there.
//
// Whoever asks for an item owns its tensors. A step owns the items that it takes from the step before, and disposes of what
// it does not hand on.

import { asTensor, type TensorLike } from '../apply.js';
import { checkFunction, checkInteger, isPlainObject, shown } from '../check.js';
import { evaluateAsync } from '../core.js';
import { ShapeError, SinterError } from '../errors.js';
import { argsort, stack, take } from '../functions.gen.js';
import { readOptions } from '../options.js';
import { dispose, flatten, rebuild, tensorsWithin } from '../pytree.js';
import { bits, foldIn } from '../random.js';
import { sameTree } from '../regions.js';
import { keep, tidy, tidyUnlessAsync } from '../scope.js';
import { Tensor } from '../tensor.js';

/** A place in a dataset: plain numbers, which saveState carries. */
export interface Place {
  /** The number of the pass, which is one time through the dataset; keys give each pass another order. */
  pass: number;
  /** How many items of the pass were taken. */
  index: number;
}

/** One time through a dataset. */
export interface Pass<T> {
  /** The next item, whose tensors belong to the caller. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Ends the pass early. */
  return(): Promise<IteratorResult<T, undefined>>;
  [Symbol.asyncIterator](): Pass<T>;
  /** The place of the item that next() gives next. */
  readonly place: Place;
}

/** Gives the items of a pass, from item number `from` on. */
type Open<T> = (pass: number, from: number) => AsyncGenerator<T, undefined>;

/** Access to items by their numbers, for a dataset that has it. */
interface Rows<T> {
  /** The numbers of all rows in the order of a pass. */
  order(pass: number): Promise<Int32Array>;
  item(row: number): T | Promise<T>;
  /** Several rows, stacked as a batch. */
  gather(rows: Int32Array): unknown;
}

export interface BatchOptions {
  /** Leaves out a last batch with fewer items, for which a step would be compiled again. Default false. */
  dropLast?: boolean;
}

export interface ShuffleOptions {
  /** How many items wait in a window from which the next one is drawn, where items come one by one; default 1000. Rows
   *  of arrays are shuffled as a whole. */
  window?: number;
}

/** A recipe for items, which can be gone through any number of times: `for await (const item of dataset)` takes pass 0. */
export class Dataset<T> {
  /** The number of items in a pass; null where that is not known. */
  readonly size: number | null;
  readonly #open: Open<T>;
  readonly #rows: Rows<T> | null;

  /** @internal */
  constructor(open: Open<T>, size: number | null, rows: Rows<T> | null = null) {
    this.#open = open;
    this.size = size;
    this.#rows = rows;
  }

  /** Starts pass 0 from the beginning. */
  [Symbol.asyncIterator](): Pass<T> {
    return this.start();
  }

  /** Starts a pass at a place; default: pass 0 from the beginning. */
  start(place: Partial<Place> = {}): Pass<T> {
    const op = 'data.start';
    const { pass = 0, index = 0 } = readOptions<Partial<Place>>(op, place, { pass: 'integer', index: 'integer' });
    const items = this.#open(checkInteger(op, 'pass', pass, 0), checkInteger(op, 'index', index, 0));
    let taken = index;
    const made: Pass<T> = {
      next: async () => {
        const result = await items.next();
        if (!result.done) taken++;
        return result;
      },
      return: () => items.return(undefined),
      [Symbol.asyncIterator]: () => made,
      get place() {
        return { pass, index: taken };
      },
    };
    return made;
  }

  /**
   * Shuffles the items, in another order in each pass, which follows from the key. To be called before batch.
   */
  shuffle(key: Tensor, options?: ShuffleOptions): Dataset<T> {
    const op = 'data.shuffle';
    const { window = 1000 } = readOptions<ShuffleOptions>(op, options, { window: 'integer' });
    checkInteger(op, 'window', window, 1);
    const ofPass = keyOfPass(op, key);
    const rows = this.#rows;
    if (!rows) return new Dataset(windowed(this.#open, ofPass, window), this.size);
    const order = async (pass: number): Promise<Int32Array> => {
      const own = await rows.order(pass);
      return (await numbersOf(() => argsort(bits(ofPass(pass), [own.length])))).map((i) => own[i]!);
    };
    return ofRows(this.size!, { ...rows, order });
  }

  /** Stacks n items in one along a new first axis; numbers and arrays in them become tensors. */
  batch(n: number, options?: BatchOptions): Dataset<Stacked<T>> {
    const op = 'data.batch';
    const { dropLast = false } = readOptions<BatchOptions>(op, options, { dropLast: 'boolean' });
    checkInteger(op, 'the number of items', n, 1);
    const size = this.size === null ? null : dropLast ? Math.floor(this.size / n) : Math.ceil(this.size / n);
    const open = this.#rows ? batchedRows(this.#rows, n, dropLast) : batched(this.#open, n, dropLast);
    return new Dataset(open as Open<Stacked<T>>, size);
  }

  /** Applies f to every item. f may be async. It need not dispose of the item, nor, unless it is async, of tensors that
   *  it makes and does not return. */
  map<U>(f: (item: T) => U | Promise<U>): Dataset<U> {
    checkFunction('data.map', f);
    const open = this.#open;
    return new Dataset<U>(async function* (pass, from) {
      for await (const item of open(pass, from)) yield await applied(f, item);
      return undefined;
    }, this.size);
  }

  /** Goes through all items so many times in one pass; if they are shuffled, each time in another order. Default:
   *  without an end. */
  repeat(times = Infinity): Dataset<T> {
    if (times !== Infinity) checkInteger('data.repeat', 'the number of times', times, 0);
    const size = this.size === null ? null : this.size * times;
    return new Dataset(repeated(this.#open, this.size, times), size === Infinity || Number.isNaN(size) ? null : size);
  }

  /** Has the next n items loaded, mapped and computed while the ones before are used. */
  prefetch(n = 2): Dataset<T> {
    return new Dataset(prefetched(this.#open, checkInteger('data.prefetch', 'the number of items', n, 1)), this.size);
  }
}

/** The type of several items stacked in one. */
export type Stacked<T> = T extends Tensor | number | boolean | ArrayBufferView ? Tensor : { -readonly [K in keyof T]: Stacked<T[K]> };

/* ---- trees of items ---- */

function mapTensors<T>(tree: T, f: (t: Tensor) => Tensor): T {
  const { tensors, shape } = flatten(tree, 'data');
  return rebuild(shape, tensors.map(f)) as T;
}

/** The same item with further references to the tensors in its arrays and objects. */
const lent = (item: unknown): unknown => {
  if (item instanceof Tensor) return item.to(item.device);
  if (Array.isArray(item)) return item.map(lent);
  return isPlainObject(item) ? Object.fromEntries(Object.entries(item).map(([key, each]) => [key, lent(each)])) : item;
};

const isNumber = (value: unknown): value is number | boolean => typeof value === 'number' || typeof value === 'boolean';

/** Flattens an item, with tensors for its numbers and arrays. */
const opened = (item: unknown) =>
  flatten(item, 'data.batch', (array) => asTensor(array, 'data.batch'), (value) => (isNumber(value) ? asTensor(value, 'data.batch') : null));

function stacked(items: readonly unknown[]): unknown {
  try {
    return tidy(() => {
      const all = items.map(opened);
      const first = all[0]!;
      // A value beside the tensors, such as a text, appears once in the batch, so it has to be the same in all items.
      all.forEach(({ shape }, i) => sameTree('data.batch', 'item', first.shape, `${i} items later`, shape));
      const same = (a: readonly Tensor[], b: readonly Tensor[]): boolean => a.length === b.length && a.every((t, i) => t.meta.key === b[i]!.meta.key);
      const other = all.findIndex(({ tensors }) => !same(tensors, first.tensors));
      if (other >= 0) {
        const texts = [first, all[other]!].map(({ tensors }) => tensors.map((t) => t.meta.key).join(', '));
        throw new ShapeError('data.batch', `items differ: ${texts[0]}, and ${texts[1]} ${other} items later`);
      }
      return rebuild(first.shape, first.tensors.map((_, i) => stack(all.map(({ tensors }) => tensors[i]!))));
    });
  } finally {
    dispose(items);
  }
}

/** Returns f's result. Disposes of the item's tensors that are not in it, and of others that f made unless it is async. */
async function applied<T, U>(f: (item: T) => U | Promise<U>, item: T): Promise<U> {
  const own = tensorsWithin(item);
  let kept = new Set<Tensor>();
  try {
    const result = await tidyUnlessAsync(() => f(item));
    kept = new Set(tensorsWithin(result));
    return result;
  } finally {
    for (const t of own) if (!kept.has(t)) t.dispose();
  }
}

/** The elements of an int32 tensor that f makes. */
async function numbersOf(f: () => Tensor): Promise<Int32Array> {
  const t = keep(tidy(f));
  try {
    return (await t.data()) as Int32Array;
  } finally {
    t.dispose();
  }
}

/** Returns a function that gives the key of a pass; it copies the key's words, and does not hold the tensor. */
function keyOfPass(op: string, key: Tensor): (pass: number) => Tensor {
  if (!(key instanceof Tensor)) throw new SinterError('argument', op, `${shown(key)} is no key`, { hint: 'make one with random.key(seed)' });
  tidy(() => void foldIn(key, 0)); // refuses what is no key
  const words = key.dataSync();
  return (pass) => foldIn(asTensor(words, op), pass);
}

/* ---- sources ---- */

export const ofRows = <T>(count: number, rows: Rows<T>): Dataset<T> =>
  new Dataset(async function* (pass, from) {
    const order = await rows.order(pass);
    for (let i = from; i < count; i++) yield await rows.item(order[i]!);
    return undefined;
  }, count, rows);

/**
 * A dataset of the rows of tensors or arrays along their first axis: fromArrays([images, labels]) has items [image, label],
 * an object of arrays gives objects. Tensors are borrowed and have to live as long as the dataset is used; arrays are
 * copied once.
 */
export function fromArrays<const A extends readonly TensorLike[] | Readonly<Record<string, TensorLike>>>(
  arrays: A,
): Dataset<{ -readonly [K in keyof A]: Tensor }> {
  type Item = { -readonly [K in keyof A]: Tensor };
  const op = 'data.fromArrays';
  if (typeof arrays !== 'object' || arrays === null || arrays instanceof Tensor || ArrayBuffer.isView(arrays))
    throw new SinterError('argument', op, `${shown(arrays)}, expected several arrays`, { hint: 'write fromArrays([x, y])' });
  const entries = Object.entries(arrays).map(([name, each]): [string, Tensor] => [name, keep(asTensor(each as TensorLike, op))]);
  const counts = entries.map(([, t]) => t.shape[0]);
  const [count = 0] = counts;
  if (entries.length === 0) throw new ShapeError(op, 'there are no arrays', { hint: 'write fromArrays([x, y])' });
  if (counts.some((each) => each === undefined || each !== count))
    throw new ShapeError(op, `the arrays have ${counts.map((each) => each ?? 'no').join(', ')} rows, expected the same number in all`);
  const inForm = (list: [string, Tensor][]): Item => (Array.isArray(arrays) ? list.map(([, t]) => t) : Object.fromEntries(list)) as Item;
  const gather = (indices: Int32Array): Item => tidy(() => {
    const which = asTensor(indices, op);
    return inForm(entries.map(([name, t]) => [name, take(t, which, { axis: 0 })]));
  });
  return ofRows(count, {
    order: async () => Int32Array.from({ length: count }, (_, i) => i),
    item: (row) => tidy(() => mapTensors(gather(Int32Array.of(row)), (t) => t.reshape(t.shape.slice(1)))),
    gather,
  });
}

/** The source of a dataset's items: an iterable, or for more than one pass a function of the pass's number that makes one. */
export type ItemSource<T> = Iterable<T> | AsyncIterable<T> | ((pass: number) => Iterable<T> | AsyncIterable<T>);

/**
 * A dataset of the items of an iterable, also of an async one: lines of a file, messages of a worker. A function is called
 * for each pass; continuing at a place calls it, and drops the items before. Items belong to whoever takes them; those of
 * an array are lent, so each pass has them.
 */
export function from<T>(source: ItemSource<T>): Dataset<T> {
  const op = 'data.from';
  const isIterable = (value: unknown): value is Iterable<T> | AsyncIterable<T> =>
    typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
  if (typeof source !== 'function' && !isIterable(source)) throw new SinterError('argument', op, `${shown(source)}, expected an iterable or a function that makes one`);
  let isUsed = false;
  return new Dataset(async function* (pass, from) {
    const items: unknown = typeof source === 'function' ? source(pass) : source;
    if (!isIterable(items)) throw new SinterError('argument', op, `the function returned ${shown(items)}, expected an iterable`);
    if ('next' in items && items === source) {
      if (isUsed) throw new SinterError('argument', op, 'an iterator can be read once', { hint: 'pass a function that makes one' });
      isUsed = true;
    }
    let index = 0;
    for await (const item of items) {
      const own = items === source && Array.isArray(items) && tensorsWithin(item).length > 0 ? (lent(item) as T) : item;
      if (index++ < from) dispose(own);
      else yield own;
    }
    return undefined;
  }, Array.isArray(source) ? source.length : null);
}

/* ---- steps ---- */

/** Shuffles by a window: when it is full, a random one of the items that wait leaves for each that comes. */
const windowed = <T>(open: Open<T>, ofPass: (pass: number) => Tensor, window: number): Open<T> =>
  async function* (pass, from) {
    const waiting: T[] = [];
    let [given, drawn]: [number, Int32Array] = [0, new Int32Array(0)];
    const pick = async (): Promise<T> => {
      const at = given % window;
      if (at === 0) drawn = await numbersOf(() => bits(foldIn(ofPass(pass), given / window), [window]));
      given++;
      const place = (drawn[at]! >>> 0) % waiting.length;
      const item = waiting[place]!;
      waiting[place] = waiting[waiting.length - 1]!;
      waiting.pop();
      return item;
    };
    try {
      for await (const item of open(pass, 0)) {
        waiting.push(item);
        if (waiting.length < window) continue;
        const next = await pick();
        if (given > from) yield next;
        else dispose(next);
      }
      while (waiting.length) {
        const next = await pick();
        if (given > from) yield next;
        else dispose(next);
      }
    } finally {
      dispose(waiting);
    }
    return undefined;
  };

const batchedRows = <T>(rows: Rows<T>, n: number, dropLast: boolean): Open<unknown> =>
  async function* (pass, from) {
    const order = await rows.order(pass);
    for (let at = from * n; at < order.length; at += n) {
      const batch = order.subarray(at, at + n);
      if (dropLast && batch.length < n) break;
      yield await rows.gather(batch);
    }
    return undefined;
  };

const batched = <T>(open: Open<T>, n: number, dropLast: boolean): Open<unknown> =>
  async function* (pass, from) {
    let items: T[] = [];
    try {
      for await (const item of open(pass, from * n)) {
        items.push(item);
        if (items.length < n) continue;
        const full = items;
        items = [];
        yield stacked(full);
      }
      if (items.length && !dropLast) yield stacked(items.splice(0));
    } finally {
      dispose(items);
    }
    return undefined;
  };

const repeated = <T>(open: Open<T>, size: number | null, times: number): Open<T> =>
  async function* (pass, from) {
    const first = times === Infinity ? 0 : pass * times;
    // If the size is known, whole passes are left out without reading them.
    const whole = size ? Math.floor(from / size) : 0;
    let left = size ? from - whole * size : from;
    for (let k = whole; k < times; k++) {
      let count = 0;
      const start = size ? left : 0;
      for await (const item of open(first + k, start)) {
        count++;
        if (size || left === 0) yield item;
        else {
          left--;
          dispose(item);
        }
      }
      if (size) left = 0;
      if (count === 0 && start === 0) break;
    }
    return undefined;
  };

const prefetched = <T>(open: Open<T>, n: number): Open<T> =>
  async function* (pass, from) {
    const items = open(pass, from);
    const queue: Promise<IteratorResult<T, undefined>>[] = [];
    const load = async (): Promise<IteratorResult<T, undefined>> => {
      const result = await items.next();
      if (!result.done) await evaluateAsync('data.prefetch', tensorsWithin(result.value));
      return result;
    };
    try {
      for (;;) {
        while (queue.length <= n) {
          const loading = load();
          loading.catch(() => {}); // the error reaches whoever takes this item
          queue.push(loading);
        }
        const { done, value } = await queue.shift()!;
        if (done) break;
        yield value as T;
      }
    } finally {
      for (const loading of queue) void loading.then(({ value }) => dispose(value), () => {});
      void items.return(undefined).catch(() => {});
    }
    return undefined;
  };
