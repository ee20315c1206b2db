// gen-functions.mjs OUT.inc - the expressions of src/graph/ops.def and the functions of src/graph/expand_*.inc
// they call as data for src/graph/functions.c, which also says what the bytes mean.
//
// The texts keep rules (expand_f32.inc) that make them easy to read: functions of straight-line code over the
// words of words.def, structs of such values, object-like and function-like macros. Anything else is refused.
import { readFileSync, writeFileSync } from 'node:fs';

const graph = new URL('../src/graph/', import.meta.url);
const read = (name) => readFileSync(new URL(name, graph), 'utf8').replace(/\/\*[^]*?\*\//g, ' ');

const CODES = { RETURN: 0, CALL: 1, CALL_FUSED: 2, POLYNOMIAL: 3, FIRST_WORD: 4 };
const ARGUMENTS = { FIRST_CONSTANT: 160, FAR_CONSTANT: 255 }; // the latter: a byte more says how far
const { RETURN, CALL, CALL_FUSED, POLYNOMIAL, FIRST_WORD } = CODES;
const { FIRST_CONSTANT, FAR_CONSTANT } = ARGUMENTS;

/** Word -> its number and the kinds of its arguments: F I M, N a number in the text. */
const words = new Map([...read('words.def').matchAll(/^WORD\d(?:_32)?\((\w+),([^)]*)\)/gm)]
  .map(([, name, types], number) => [`X_${name}`, { number, kinds: types.split(',').slice(1).map((t) => t.trim()) }]));

// ---- text to functions -----------------------------------------------------------------------------------

const tokenize = (text) => text.match(/"(?:[^"\\]|\\.)*"|0x[\da-f.]+(?:p[+-]?\d+)?|\d[\d.]*|\w+|[^\s\w]/gi) ?? [];

/** Directives out of the text: included files in, macros into a map. */
const preprocess = (name, macros) => {
  let out = '';
  for (const line of read(name).replace(/\\\n/g, ' ').split('\n')) {
    const included = /^#include "graph\/(\S+)"/.exec(line);
    const macro = /^#define (\w+)(?:\(([^)]*)\))?\s+(.*)$/.exec(line);
    if (included) out += preprocess(included[1], macros);
    else if (macro) {
      const [, id, params, body] = macro;
      macros.set(id, { params: params?.split(',').map((p) => p.trim()), body: tokenize(body) });
    } else if (!/^#undef/.test(line)) out += `${line}\n`;
  }
  return out;
};

/** Tokens of the arguments of a call whose "(" is at `at`, and where it ends. */
const argumentsAt = (tokens, at) => {
  const args = [[]];
  let depth = 0;
  for (let i = at; ; i++) {
    const t = tokens[i];
    if (t === undefined) throw new Error('a call is not closed');
    if (t === '(' && depth++ === 0) continue;
    if (t === ')' && --depth === 0) return { args, end: i + 1 };
    if (t === ',' && depth === 1) args.push([]);
    else args.at(-1).push(t);
  }
};

const expandMacros = (tokens, macros) => {
  const out = [];
  for (let i = 0; i < tokens.length; i++) {
    const known = tokens[i] === 'X_HORNER' || words.has(tokens[i]); // an instruction here, whatever it is in C
    const macro = known ? undefined : macros.get(tokens[i]);
    if (!macro) {
      out.push(tokens[i]);
      continue;
    }
    let { body } = macro;
    if (macro.params) {
      const { args, end } = argumentsAt(tokens, i + 1);
      body = body.flatMap((t) => (macro.params.includes(t) ? args[macro.params.indexOf(t)] : [t]));
      i = end - 1;
    }
    out.push(...expandMacros(body, macros));
  }
  return out;
};

/** Reads the text's functions and structs; statements stay tokens. */
const parseText = (name) => {
  const macros = new Map();
  preprocess('vocabulary.h', macros);
  const tokens = expandMacros(tokenize(preprocess(name, macros)), macros);
  const structs = new Map();
  const functions = new Map();
  let at = 0;
  const until = (end) => {
    const from = at;
    while (tokens[at] !== end) if (++at > tokens.length) throw new Error(`${name}: no ${end}`);
    return tokens.slice(from, at++);
  };
  const typeName = () => {
    if (tokens[at] !== 'X_FN') return tokens[at++];
    at += 4; // X_FN ( name )
    return tokens[at - 2];
  };
  while (at < tokens.length) {
    if (tokens[at] === 'typedef') {
      at += 3; // typedef struct {
      const fields = until('}').filter((t) => !/^(X_[FIM]|,|;)$/.test(t));
      structs.set(typeName(), fields);
      at++;
    } else {
      at += 2; // static inline
      const result = typeName();
      const id = typeName();
      const { args: params, end } = argumentsAt(tokens, at);
      at = end + 1;
      const body = until('}');
      params[0].shift(); // X_PARAM
      functions.set(id, { result, params: params.map((p) => ({ type: p.length > 2 ? p[2] : p[0], id: p.at(-1) })), body });
    }
  }
  return { structs, functions, macros };
};

// ---- functions to bytes ----------------------------------------------------------------------------------

const number = (text) => {
  if (text === 'INFINITY') return Infinity;
  const hex = /^0x([\da-f]+)\.?([\da-f]*)p([+-]?\d+)$/i.exec(text);
  return hex ? parseInt(hex[1] + hex[2], 16) * 2 ** (Number(hex[3]) - 4 * hex[2].length) : Number(text);
};

/** The value of a sum of numbers, as the text has it within X_C(...). */
const sumOf = (tokens) => {
  let sum = 0, sign = 1;
  for (const t of tokens) {
    if (t === '-') sign = -sign;
    else if (t !== '+' && t !== '(' && t !== ')') {
      const value = number(t);
      if (Number.isNaN(value)) throw new Error(`not a number: ${t}`);
      sum = sum === 0 && sign < 0 ? -value : sum + sign * value; // -0 stays
      sign = 1;
    }
  }
  return sum;
};

const integer = (tokens) => (tokens[0] === '-' ? -integer(tokens.slice(1)) : BigInt(tokens.join('')));

const bitsOf = (width, value) => {
  const view = new DataView(new ArrayBuffer(8));
  if (width === 32) view.setFloat32(0, value);
  else view.setFloat64(0, value);
  return width === 32 ? BigInt(view.getUint32(0)) : view.getBigUint64(0);
};

class Compiler {
  constructor(width) {
    this.width = width;
    Object.assign(this, parseText(`expand_f${width}.inc`));
    this.numbers = new Map(); // name of a function -> its number
    this.compiled = []; // bytes by number
    this.ops = { float: [], int: [], bool: [] }; // [op, number]
    this.constants = new Map(); // bits -> number
    this.values = 0; // most of any function
  }

  /** Number of a function; what it calls has a lower one. */
  functionNumber(id) {
    if (!this.numbers.has(id)) {
      const source = this.functions.get(id);
      if (!source) throw new Error(`no function ${id}`);
      const bytes = new FunctionCompiler(this, source).bytes;
      this.numbers.set(id, this.compiled.push(bytes) - 1);
    }
    return this.numbers.get(id);
  }

  /** The row's expression in a, b for a kind of dtype; equal ones are one function. */
  addOp(op, kind, arity, expression) {
    const call = /^X_FN \( (\w+) \) \( X_ARG a( , b)? \)$/.exec(expression.join(' '));
    let number = call && this.functionNumber(call[1]);
    if (!call) {
      const params = ['a', 'b'].slice(0, arity).map((id) => ({ type: 'X_F', id }));
      const body = ['return', ...expandMacros(expression, this.macros), ';'];
      const { bytes } = new FunctionCompiler(this, { result: 'X_F', params, body });
      number = this.compiled.findIndex((other) => String(other) === String(bytes));
      if (number < 0) number = this.compiled.push(bytes) - 1;
    }
    this.ops[kind].push([op, number]);
  }

  constant(bits) {
    if (!this.constants.has(bits)) this.constants.set(bits, this.constants.size);
    return this.constants.get(bits);
  }

  literal(bits) {
    return Array.from({ length: this.width / 8 }, (_, i) => Number((bits >> BigInt(8 * i)) & 255n));
  }

  size(type) {
    return this.structs.get(type)?.length ?? 1;
  }
}

/** A value is { slot }, { bits } for a constant, or { fields } of such. */
class FunctionCompiler {
  constructor(owner, { result, params, body }) {
    this.owner = owner;
    this.names = new Map();
    this.n = 0;
    for (const { type, id } of params) this.names.set(id, this.newValue(type));
    this.bytes = [this.n];
    this.tokens = body;
    this.at = 0;
    while (this.at < body.length) this.statement();
    if (this.returned !== owner.size(result)) throw new Error('a function does not return its type');
    owner.values = Math.max(owner.values, this.n);
  }

  newValue(type) {
    const fields = this.owner.structs.get(type);
    if (!fields) return { slot: this.n++ };
    return { fields: new Map(fields.map((f) => [f, { slot: this.n++ }])) };
  }

  take(expected) {
    const t = this.tokens[this.at++];
    if (expected !== undefined && t !== expected) throw new Error(`${expected} expected, not ${t}`);
    return t;
  }

  statement() {
    let t = this.take();
    if (t === 'return') {
      const value = this.expression();
      const parts = value.fields ? [...value.fields.values()] : [value];
      this.emit(RETURN, [parts.length, ...parts]);
      this.returned = parts.length;
    } else {
      let type;
      if (/^X_[FIM]$/.test(t)) t = this.take();
      if (t === 'X_FN') {
        this.take('(');
        type = this.take();
        this.take(')');
        t = this.take();
        if (this.tokens[this.at] === ';') this.names.set(t, { fields: new Map(this.owner.structs.get(type).map((f) => [f])) });
      }
      if (this.tokens[this.at] === '.') {
        this.take('.');
        const field = this.take();
        this.take('=');
        this.names.get(t).fields.set(field, this.expression());
      } else if (this.tokens[this.at] === '=') {
        this.take('=');
        this.names.set(t, this.expression());
      } else if (this.tokens[this.at] !== ';') {
        this.at--;
        this.take(type ? ';' : '='); // refuses
      }
    }
    if (this.tokens[this.at] === ';') this.at++; // a macro of statements ends in one of its own
  }

  /** `args` are values or, as plain numbers, bytes. */
  emit(code, args) {
    this.bytes.push(code, ...args.flatMap((a) => (typeof a === 'number' ? [a] : this.reference(a))));
  }

  reference(value) {
    if (value?.bits !== undefined) {
      const c = FIRST_CONSTANT + this.owner.constant(value.bits);
      return c < FAR_CONSTANT ? [c] : [FAR_CONSTANT, c - FAR_CONSTANT];
    }
    const distance = this.n - value?.slot;
    if (value?.gone || !(distance > 0 && distance < FIRST_CONSTANT)) throw new Error('an argument is too far away, or none');
    return [distance];
  }

  callArguments() {
    this.take('(');
    const args = [];
    while (this.tokens[this.at] !== ')') {
      if (this.tokens[this.at] === 'X_ARG') {
        this.at++;
        continue;
      }
      args.push(this.expression());
      if (this.tokens[this.at] === ',') this.at++;
    }
    this.take(')');
    return args;
  }

  call(code, ids, args) {
    const numbers = ids.map((id) => this.owner.functionNumber(id));
    this.emit(code, [...numbers, ...args.flatMap((a) => (a.fields ? [...a.fields.values()] : [a]))]);
    return this.newValue(this.owner.functions.get(ids[0]).result);
  }

  functionName() {
    this.take('X_FN');
    this.take('(');
    const id = this.take();
    this.take(')');
    return id;
  }

  literalArgument() {
    const { args, end } = argumentsAt(this.tokens, this.at);
    this.at = end;
    return args[0];
  }

  /** Steps on the same x one after the other are one polynomial. */
  horner(args) {
    const [p, x, c] = args;
    const last = this.lastPolynomial;
    const bytes = this.owner.literal(c.bits);
    if (last && last.end === this.bytes.length && last.slot === p.slot && p.slot !== undefined && last.x === x.slot) {
      this.bytes[last.count]++;
      this.bytes.push(...bytes);
      last.end = this.bytes.length;
      p.gone = true; // the value in between: no other may ask for it
      return { slot: p.slot };
    }
    this.emit(POLYNOMIAL, [p, x, 1]);
    const count = this.bytes.length - 1;
    this.bytes.push(...bytes);
    const value = this.newValue();
    this.lastPolynomial = { count, slot: value.slot, x: x.slot, end: this.bytes.length };
    return value;
  }

  word(id) {
    if (id === 'X_C') return { bits: bitsOf(this.owner.width, sumOf(this.literalArgument())) };
    if (id === 'X_IC') return { bits: BigInt.asUintN(this.owner.width, integer(this.literalArgument())) };
    if (id === 'X_HORNER') {
      this.take('(');
      const p = this.expression();
      this.take(',');
      const x = this.expression();
      this.take(',');
      const from = this.at;
      while (this.tokens[this.at] !== ')') this.at++;
      const c = { bits: bitsOf(this.owner.width, sumOf(this.tokens.slice(from, this.at))) };
      this.take(')');
      return this.horner([p, x, c]);
    }
    if (id === 'X_BITS' || id === 'X_FLOAT') return this.callArguments()[0];
    if (id === 'X_SEL_RARE') return this.selectRare();
    const { number: code, kinds } = words.get(id) ?? {};
    if (code === undefined) throw new Error(`${id} is no word of words.def`);
    const args = this.callArguments();
    this.emit(FIRST_WORD + code, args.map((a, i) => (kinds[i] === 'N' ? Number(a.literal) : a)));
    return this.newValue();
  }

  /** The mask before what may be skipped, the choice behind it. */
  selectRare() {
    this.take('(');
    const mask = this.expression();
    this.take(',');
    this.emit(FIRST_WORD + words.get('X_RARE').number, [mask]);
    this.newValue();
    const a = this.expression();
    this.take(',');
    const b = this.expression();
    this.take(')');
    this.emit(FIRST_WORD + words.get('X_RARE_END').number, [mask, a, b]);
    return this.newValue();
  }

  expression() {
    const t = this.tokens[this.at];
    if (t === 'X_FUSED') return this.fusedChoice();
    if (t === 'X_FN') return this.call(CALL, [this.functionName()], this.callArguments());
    this.at++;
    if (/^X_/.test(t)) return this.word(t);
    if (/^\d/.test(t)) return { literal: t };
    let value = this.names.get(t);
    if (this.tokens[this.at] === '.') {
      this.at++;
      value = value?.fields.get(this.take());
    }
    if (!value) throw new Error(`${t} has no value`);
    return value;
  }

  fusedChoice() {
    this.take('X_FUSED');
    this.take('?');
    const fused = this.functionName();
    const args = this.callArguments();
    this.take(':');
    const plain = this.functionName();
    this.callArguments();
    return this.call(CALL_FUSED, [fused, plain], args);
  }
}

// ---- the ops ---------------------------------------------------------------------------------------------

/** Rows by macro: kinds of the expressions they end with, and where the arity stands. */
const ROWS = {
  EW_F: { kinds: ['float'], arity: 1 },
  EW_FI: { kinds: ['float', 'int'], arity: 1 },
  EW_FIB: { kinds: ['float', 'int', 'bool'], arity: 1 },
  EW_I: { kinds: ['int'], arity: 1 },
  EW_B: { kinds: ['bool'], arity: 1 },
  CMP_F: { kinds: ['float'], arity: 1 },
  CMP_FIB: { kinds: ['float', 'int', 'bool'], arity: 1 },
  REDUCE: { kinds: ['float', 'int'] }, // of two values, whatever the op has
};

const compileRows = (f32, f64) => {
  for (const line of read('ops.def').split('\n')) {
    const tokens = tokenize(line);
    const row = ROWS[tokens[0]];
    if (!row) continue;
    const { args } = argumentsAt(tokens, 1);
    const arity = row.arity ? Number(args[row.arity][0]) : 2;
    row.kinds.forEach((kind, i) => {
      const expression = args.at(i - row.kinds.length);
      f32.addOp(args[0][0], kind, arity, expression);
      if (kind === 'float') f64.addOp(args[0][0], kind, arity, expression);
    });
  }
};

const list = (values, perLine) => values.map((v, i) => (i % perLine === perLine - 1 ? `${v},\n` : `${v}, `)).join('');

const numbers = (ops) => `{${ops.map(([op, n]) => `[SN_OP_${op}] = ${n}`).join(', ')}}`;

/** A function's bytes behind how many they are: two digits of base 256, the lower one first. */
const counted = (bytes) => [bytes.length & 255, bytes.length >> 8, ...bytes];

const section = ({ width, compiled, constants }) => {
  const suffix = width === 32 ? 'u' : 'ull';
  return `
static const uint8_t code_${width}[] = {
${list(compiled.flatMap(counted), 24)}};
static const uint${width}_t constants_${width}[] = {
${list([...constants.keys()].map((c) => `0x${c.toString(16)}${suffix}`), 6)}};
`;
};

const members = (list) => Object.entries(list).map(([name, value]) => `${name} = ${value}`).join(', ');

/** By dtype: its functions in expand_small.inc, to its wide dtype and from it; 0 where the bits are the same. */
const SMALL = { F16: ['widen_f16', 'narrow_f16'], BF16: ['widen_bf16', 'narrow_bf16'], I8: ['', 'narrow_i8'], U8: ['', 'narrow_u8'] };

const f32 = new Compiler(32);
const f64 = new Compiler(64);
compileRows(f32, f64);
const casts = Object.entries(SMALL).map(([dtype, names]) =>
  `[SN_${dtype}] = {${names.map((name) => (name ? f32.functionNumber(name) : 0)).join(', ')}}`);
writeFileSync(process.argv[2], `/* Generated from src/graph/ops.def and expand_*.inc by scripts/gen-functions.mjs. */
enum { ${members(CODES)} };
enum { ${members(ARGUMENTS)} };
#define SN_FUNCTION_VALUES ${Math.max(f32.values, f64.values)} /* most of any function */
${section(f32)}${section(f64)}
static const uint8_t numbers[][SN_OP_COUNT] = {
[SN_F32] = ${numbers(f32.ops.float)},
[SN_F64] = ${numbers(f64.ops.float)},
[SN_I32] = ${numbers(f32.ops.int)},
[SN_BOOL] = ${numbers(f32.ops.bool)},
};
static const uint8_t casts[][2] = {${casts.join(', ')}};
`);
