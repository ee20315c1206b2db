// order-functions.mjs - an order of a module's functions that compresses well. Deflate finds again what it met in
// the last 32 kB, an eighth of the code, so functions that are alike should be near each other, and those of one
// type, as their types stand one after the other in a section of their own. 1 kB less to download.
//
// First each function is followed by the one most like those before it; then blocks of functions are moved about
// for as long as that helps. The same module gives the same order. Calls name functions by number, the low ones in
// one byte: those that Binaryen put first, as they are called most, stay first.
import { gzipSync } from 'node:zlib';
import { SECTION, section, sections, uleb } from './wasm-bytes.mjs';

const ONE_BYTE = 128;
const GRAM = 5; // bytes that are alike
const COMMON = 300; // functions with the same gram, from which on it says nothing
const WINDOWS = [8, 12, 20]; // functions that the next one should be like
const BONUSES = [0.05, 0.1, 0.2, 0.4, 0.8]; // of the same type
const LONGEST = 40; // functions of a block

const IMPORT_KINDS = [
  (r) => r.number(), // function
  (r) => { r.byte(); limits(r); }, // table
  (r) => limits(r), // memory
  (r) => { r.byte(); r.byte(); }, // global
];
const limits = (r) => {
  const hasMost = r.byte() & 1;
  r.number();
  if (hasMost) r.number();
};

const parse = (bytes) => {
  const module = { imports: 0, types: [], elements: [], bodies: [] };
  const repeat = (r, f) => {
    for (let n = r.number(); n > 0; n--) f(r);
  };
  const readers = {
    [SECTION.import]: (r) => {
      r.name();
      r.name();
      const kind = r.byte();
      IMPORT_KINDS[kind](r);
      if (kind === 0) module.imports++;
    },
    [SECTION.function]: (r) => module.types.push(r.number()),
    [SECTION.element]: (r) => { // at a constant place of table 0
      r.number();
      r.byte();
      r.number();
      r.byte();
      repeat(r, () => module.elements.push(r.number()));
    },
    [SECTION.code]: (r) => module.bodies.push(r.take(r.number())),
  };
  for (const { id, content } of sections(bytes)) if (readers[id]) repeat(content, readers[id]);
  return module;
};

/** Compressed bytes of what depends on the order. */
const cost = ({ imports, types, elements, bodies }, order) => {
  const place = new Array(order.length);
  order.forEach((f, i) => (place[f] = i));
  const numbers = [...order.map((f) => types[f]), ...elements.map((f) => (f < imports ? f : imports + place[f - imports]))];
  return gzipSync(Buffer.concat([Buffer.from(numbers.flatMap(uleb)), ...order.map((f) => bodies[f])]), { level: 9 }).length;
};

const gramsOf = (body) => {
  const grams = new Set();
  for (let i = 0; i + GRAM <= body.length; i++) grams.add(body.readUIntBE(i, GRAM));
  return grams;
};

/** Gram -> the functions that have it. */
const findAlike = (grams) => {
  const alike = new Map();
  grams.forEach((set, f) => set.forEach((gram) => {
    if (!alike.has(gram)) alike.set(gram, []);
    alike.get(gram).push(f);
  }));
  for (const [gram, functions] of alike) if (functions.length < 2 || functions.length > COMMON) alike.delete(gram);
  return alike;
};

const followLikeness = ({ types, bodies }, grams, alike, first, window, bonus) => {
  const score = new Float64Array(bodies.length);
  const order = [];
  const count = (f, sign) => {
    for (const gram of grams[f]) {
      const functions = alike.get(gram);
      for (const other of functions ?? []) score[other] += sign / Math.sqrt(functions.length);
    }
  };
  const next = (left) => {
    const type = types[order.at(-1)];
    let best = -1, most = -1;
    for (const f of left) {
      const value = score[f] / Math.sqrt(bodies[f].length) + (types[f] === type ? bonus : 0);
      if (value > most) [best, most] = [f, value];
    }
    return best;
  };
  for (const [from, to] of [[0, first], [first, bodies.length]]) {
    const left = new Set(Array.from({ length: to - from }, (_, i) => from + i));
    while (left.size) {
      const f = next(left);
      left.delete(f);
      order.push(f);
      count(f, 1);
      if (order.length > window) count(order.at(-1 - window), -1);
    }
  }
  return order;
};

/** Numbers in [0, 1), the same each time (mulberry32). */
const randomNumbers = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const moveBlocks = (module, start, first, tries) => {
  const random = randomNumbers(1);
  const below = (n) => Math.floor(random() * n);
  let order = start;
  let least = cost(module, order);
  for (let i = 0; i < tries; i++) {
    const [low, high] = below(20) ? [first, order.length] : [0, first];
    const length = 1 + Math.floor(random() ** 3 * Math.min(LONGEST, high - low - 2));
    const moved = order.slice();
    const block = moved.splice(low + below(high - low - length), length);
    moved.splice(low + below(high - low - length), 0, ...block);
    const size = cost(module, moved);
    if (size <= least) [order, least] = [moved, size];
  }
  return order;
};

/** The module with a name section, which orders its functions when they are sorted by name. */
export const nameByOrder = (bytes, tries) => {
  const module = parse(bytes);
  const { imports, bodies } = module;
  const first = ONE_BYTE - imports;
  const grams = bodies.map(gramsOf);
  const alike = findAlike(grams);
  const starts = WINDOWS.flatMap((window) => BONUSES.map((bonus) => followLikeness(module, grams, alike, first, window, bonus)))
    .map((order) => ({ order, size: cost(module, order) })).sort((a, b) => a.size - b.size);
  const order = moveBlocks(module, starts[0].order, first, tries);
  const names = order.map((f, i) => [imports + f, `f${String(i).padStart(6, '0')}`]).sort((a, b) => a[0] - b[0]);
  const map = [...uleb(names.length), ...names.flatMap(([f, name]) => [...uleb(f), name.length, ...Buffer.from(name)])];
  const FUNCTIONS = 1;
  return Buffer.concat([bytes, section(SECTION.custom, [4, ...Buffer.from('name'), FUNCTIONS, ...uleb(map.length), ...map])]);
};
