// kinds.mjs - the kinds of arguments in src/tensor/functions.def.
//
//   ts      its type in TypeScript; also of an option
//   option  how js/src/options.ts checks an option of it
//   c       its arguments in C, by the name in C
//   says    what it is, for the reference
//
// Kinds without c belong to functions whose prototype the table writes out, or that have another form in C.

const kind = (ts, option, c, says) => ({ ts, option, c, says });

const KINDS = {
  tensor: kind('TensorLike', 'tensor', (name) => [`sn_tensor *${name}`], 'a tensor, a number, nested arrays or a typed array'),
  tensors: kind('readonly TensorLike[]', 'any', (name) => [`sn_tensor *const *${name}`, 'size_t count'], 'an array of tensors'),
  rest: kind('TensorLike[]', 'any', (name) => [`sn_tensor *const *${name}`, 'size_t count'], 'tensors, one by one'),
  number: kind('number', 'number', (name) => [`double ${name}`], 'a number'),
  integer: kind('number', 'integer', (name) => [`int64_t ${name}`], 'a whole number'),
  flag: kind('boolean', 'boolean', (name) => [`bool ${name}`], 'true or false'),
  axis: kind('number', 'axis', (name) => [`int ${name}`], 'an axis; negative: from the end'),
  flat: kind('number | null', 'axis', (name) => [`int ${name}`], 'an axis, or null'),
  axes: kind('Axes | null', 'axes', () => ['uint32_t axes'], 'an axis, an array of axes, or null'),
  dtype: kind('DTypeName', 'string', (name) => [`sn_dtype ${name}`], 'the name of a dtype'),
  text: kind('string', 'string', (name) => [`const char *${name}`], 'a text'),
  shape: kind('readonly number[]', 'any', () => ['int rank', 'const int64_t *dims'], 'an array of sizes'),
  ints: kind('readonly number[]', 'any', (name) => [`const int64_t *${name}`], 'a whole number for each axis'),
  permutation: kind('readonly number[]', 'any', (name) => [`const int *${name}`], 'the axes in another order'),
  pairs: kind('readonly (readonly [number, number])[]', 'any', () => ['const int64_t *before', 'const int64_t *after'], '[before, after] for each axis'),
  some: kind('number | readonly number[]', 'any', null, 'a whole number, or an array of them'),
  perAxis: kind('PerAxis', 'any', null, 'a whole number, or one for each spatial axis'),
  padding: kind('Padding', 'any', null, "'same', 'valid' or [before, after] for each spatial axis"),
  numbers: kind('NestedArray | NumericArray', 'any', null, 'nested arrays, a number or a typed array'),
  rows: kind('RowIndex', 'any', null, 'a row, rows, or a range { begin, end, stride }'),
  quantized: kind('Quantized', 'any', null, '{ values, scales }'),
};

const quoted = (choices) => choices.map((each) => `'${each}'`);

/** choice(a, b): one of these strings; in C an enum. */
const choiceOf = (choices, where) => kind(quoted(choices).join(' | '), 'string',
  (name) => [`sn_${where}_${name} ${name}`], `one of ${quoted(choices).join(', ')}`);

/** Parses a kind such as "tensor?" or "choice(a, b)"; `where` names the enum of a choice. */
export const readKind = (text, where) => {
  const [, name, inside, mark] = /^(\w+)(?:\(([^)]*)\))?(\??)$/.exec(text) ?? [];
  const choices = name === 'choice' ? inside.split(',').map((each) => each.trim()) : undefined;
  const found = choices ? choiceOf(choices, where) : KINDS[name];
  if (!found) throw new Error(`functions.def: no kind ${text}`);
  return { ...found, name, choices, optional: mark === '?' };
};
