// Ops on texts, which are always known elements, and ops of ai.onnx.ml on texts and trees.

import * as sn from '../../index.js';
import { broadcast, broadcastShape } from '../fold.js';
import type { Op } from '../plan.js';
import type { Elements } from '../tensors.js';
import { FLOAT, INT64, isFloatType, STRING } from '../types.js';
import { known } from '../value.js';

/** Drops stop words and changes the case of the others. */
const stringNormalizer: Op = {
  since: 10,
  run: (n, x) => {
    const stop = n.texts('stopwords') ?? [];
    const isExact = n.flag('is_case_sensitive');
    const drop = new Set(isExact ? stop : stop.map((word) => word.toLowerCase()));
    const kept = x!.texts.filter((word) => !drop.has(isExact ? word : word.toLowerCase()));
    const action = n.text('case_change_action', 'NONE');
    const words = kept.map((word) => (action === 'LOWER' ? word.toLowerCase() : action === 'UPPER' ? word.toUpperCase() : word));
    const all = words.length > 0 ? words : [''];
    return known(STRING, x!.rank === 2 ? [1, all.length] : [all.length], all);
  },
};

const stringConcat: Op = {
  since: 20,
  run: (n, x, y) => {
    const shape = broadcastShape(n, x!.shape, y!.shape);
    const [a, b] = [broadcast(known(STRING, x!.shape, x!.texts), shape), broadcast(known(STRING, y!.shape, y!.texts), shape)];
    return known(STRING, shape, a.texts.map((text, i) => text + b.texts[i]!));
  },
};

/** Splits at most so many times from the left; the rest stays one piece. */
function splitText(text: string, delimiter: string, most: number): string[] {
  if (delimiter) {
    const parts = text.split(delimiter);
    return most >= 0 && parts.length > most + 1 ? [...parts.slice(0, most), parts.slice(most).join(delimiter)] : parts;
  }
  const parts: string[] = [];
  let rest = text.trim();
  while (rest && (most < 0 || parts.length < most)) {
    const word = /^\S+/.exec(rest)![0];
    parts.push(word);
    rest = rest.slice(word.length).trimStart();
  }
  return rest ? [...parts, rest] : parts;
}

const stringSplit: Op = {
  since: 20,
  run: (n, x) => {
    const most = n.has('maxsplit') ? n.int('maxsplit') : -1;
    const rows = x!.texts.map((text) => splitText(text, n.text('delimiter'), most));
    const width = Math.max(0, ...rows.map((row) => row.length));
    const texts = rows.flatMap((row) => Array.from({ length: width }, (_, i) => row[i] ?? ''));
    return [known(STRING, [...x!.shape, width], texts), known(INT64, x!.shape, rows.map((row) => row.length))];
  },
};

/** Counts n-grams of words. */
const tfIdfVectorizer: Op = {
  since: 9,
  run: (n, x) => {
    const [begins, indexes, weights] = [n.ints('ngram_counts')!, n.ints('ngram_indexes')!, n.floats('weights')];
    const words: readonly (string | number)[] = n.texts('pool_strings')?.length ? n.texts('pool_strings')! : n.ints('pool_int64s')!;
    const [shortest, longest, skips] = [n.int('min_gram_length'), n.int('max_gram_length'), n.int('max_skip_count')];
    const places = new Map<string, number>();
    let gram = 0;
    begins.forEach((begin, i) => {
      for (let at = begin; at < (begins[i + 1] ?? words.length); at += i + 1) places.set(JSON.stringify(words.slice(at, at + i + 1)), gram++);
    });
    const width = Math.max(...indexes) + 1;
    const rows = x!.rank === 2 ? x!.shape[0]! : 1;
    const length = x!.shape.at(-1)!;
    const elements = Array.from(x!.elements as ArrayLike<string | number>);
    const counts = new Float32Array(rows * width);
    for (let row = 0; row < rows; row++) {
      const line = elements.slice(row * length, (row + 1) * length);
      for (let size = shortest; size <= longest; size++) {
        for (let skip = 1; skip <= (size === 1 ? 1 : skips + 1); skip++) {
          for (let at = 0; at + (size - 1) * skip < length; at++) {
            const found = places.get(JSON.stringify(Array.from({ length: size }, (_, i) => line[at + i * skip]!)));
            if (found !== undefined) counts[row * width + indexes[found]!]!++;
          }
        }
      }
    }
    const weightOf = new Float32Array(width).fill(1);
    if (weights?.length) indexes.forEach((index, i) => (weightOf[index] = weights[i]!));
    const mode = n.text('mode', 'TF');
    const scaled = counts.map((count, i) => (mode === 'TF' ? count : (mode === 'IDF' ? Math.min(count, 1) : count) * weightOf[i % width]!));
    return known(FLOAT, x!.rank === 2 ? [rows, width] : [width], scaled);
  },
};

const labelEncoder: Op = {
  since: 1,
  run: (n, x) => {
    const list = (side: string): Elements | undefined =>
      ([n.texts(`${side}_strings`), n.ints(`${side}_int64s`), n.floats(`${side}_floats`)] as (Elements | undefined)[]).find((each) => each?.length) ?? n.elements(`${side}_tensor`);
    const [keys, values] = [list('keys'), list('values')];
    if (!keys || !values) throw n.fail('there are no keys and values');
    const table = new Map<unknown, unknown>(Array.from(keys as ArrayLike<unknown>, (key, i) => [key, values[i]]));
    const type = n.tensor('values_tensor')?.type ?? (typeof values[0] === 'string' ? STRING : n.ints('values_int64s')?.length ? INT64 : FLOAT);
    const fallback = n.elements('default_tensor')?.[0] ?? (type === STRING ? n.text('default_string', '_Unused') : type === INT64 ? n.int('default_int64', -1) : n.float('default_float', -0));
    return known(type, x!.shape, Array.from(x!.elements as ArrayLike<unknown>, (key) => table.get(key) ?? fallback) as unknown as Elements);
  },
};

/** The tests of a tree's nodes, by mode: <=, <, >=, >, ==, !=. Mode 6 tests membership in a set instead. */
const TESTS: readonly ((a: number, b: number) => boolean)[] = [
  (a, b) => a <= b,
  (a, b) => a < b,
  (a, b) => a >= b,
  (a, b) => a > b,
  (a, b) => a === b,
  (a, b) => a !== b,
];

/** Decision trees, whose leaf weights are aggregated. */
const treeEnsemble: Op = {
  since: 5,
  run: (n, x) => {
    const list = (name: string): number[] => n.ints(name) ?? [];
    const values = (name: string): number[] => Array.from((n.elements(name) ?? []) as ArrayLike<number>);
    const [roots, features, modes, splits] = [list('tree_roots'), list('nodes_featureids'), values('nodes_modes'), values('nodes_splits')];
    const [yes, no, yesLeaf, noLeaf] = [list('nodes_truenodeids'), list('nodes_falsenodeids'), list('nodes_trueleafs'), list('nodes_falseleafs')];
    const [targets, weights, members] = [list('leaf_targetids'), values('leaf_weights'), values('membership_values')];
    const missing = list('nodes_missing_value_tracks_true');
    const sets: Set<number>[] = [];
    let open = new Set<number>();
    for (const member of members) {
      if (Number.isNaN(member)) {
        sets.push(open);
        open = new Set();
      } else open.add(member);
    }
    let next = 0;
    const setOf = modes.map((mode) => (mode === 6 ? sets[next++] : undefined));
    const [rows, width] = x!.shape as [number, number];
    const count = n.int('n_targets', 1);
    const given = x!.numbers;
    const leaves = Array.from({ length: rows * count }, (): number[] => []);
    for (let row = 0; row < rows; row++) {
      for (const root of roots) {
        let [at, isLeaf] = [root, false];
        for (let steps = 0; !isLeaf; steps++) {
          if (steps > modes.length) throw n.fail('a tree goes in a circle');
          const value = given[row * width + features[at]!]!;
          const holds = (Number.isNaN(value) && missing[at]) || (setOf[at]?.has(value) ?? TESTS[modes[at]!]!(value, splits[at]!));
          isLeaf = (holds ? yesLeaf : noLeaf)[at] === 1;
          at = (holds ? yes : no)[at]!;
        }
        leaves[row * count + targets[at]!]!.push(weights[at]!);
      }
    }
    const mode = n.int('aggregate_function', 1);
    const totals = leaves.map((list) => {
      if (mode === 2) return Math.min(...list);
      if (mode === 3) return Math.max(...list);
      const sum = list.reduce((a, b) => a + b, 0);
      return mode === 0 ? sum / roots.length : sum;
    });
    const post = n.int('post_transform');
    if (post !== 0) throw n.fail(`post_transform ${post} is not known`);
    return known(isFloatType(x!.type) ? x!.type : FLOAT, [rows, count], totals);
  },
};

const binarizer: Op = { since: 1, run: (n, x) => sn.greater(x!.t, n.float('threshold')).astype(x!.t.dtype) };

export const TEXTS: Readonly<Record<string, Op>> = {
  StringNormalizer: stringNormalizer,
  StringConcat: stringConcat,
  StringSplit: stringSplit,
  TfIdfVectorizer: tfIdfVectorizer,
  'ai.onnx.ml.LabelEncoder': labelEncoder,
  'ai.onnx.ml.TreeEnsemble': treeEnsemble,
  'ai.onnx.ml.Binarizer': binarizer,
};
