// Names in written source: of values after what they are.

const RESERVED =
  'break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await async of arguments eval sn dilate recurrence scatterAlongAxis';

/** Names in use where something is written. Those of an inner function may not hide names around it. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = RESERVED.split(' ')) {
    this.#taken = new Set(taken);
  }

  /** A name like the given one that nothing has yet. */
  claim(wanted: string): string {
    const base = /^[A-Za-z_$]/.test(wanted) ? wanted : `x${wanted}`;
    let name = base;
    for (let n = 2; this.#taken.has(name); n++) name = `${base}${/\d$/.test(base) ? '_' : ''}${n}`;
    this.#taken.add(name);
    return name;
  }

  /** Of a function inside, in which these names mean nothing. */
  inner(free: readonly string[] = []): Names {
    return new Names([...this.#taken].filter((name) => !free.includes(name)));
  }
}

/** The last word of a leaf's place: 'w1' of 'p.layers[0].w1'. */
export const lastWord = (path: string): string => [...path.matchAll(/[A-Za-z_$][\w$]*/g)].at(-1)?.[0] ?? '';

/** Of a value, after the op that makes it. */
const BY_OP: Readonly<Record<string, string>> = {
  matmul: 'z', conv: 'z', relu: 'h', tanh: 'h', sigmoid: 'h', gelu: 'h', silu: 'h', mish: 'h', softplus: 'h', softmax: 'p',
  exp: 'e', sum: 'total', max: 'top', min: 'least', sort: 'sorted', argsort: 'order', gather: 'rows', iota: 'index', transpose: 'turned',
  concat: 'joined', pad: 'padded', slice: 'part', scan: 'ys', equal: 'mask', not_equal: 'mask', less: 'mask', less_equal: 'mask',
  greater: 'mask', greater_equal: 'mask', logical_and: 'mask', logical_or: 'mask', logical_not: 'mask', isnan: 'mask',
};

export const nameOfOp = (op: string): string => BY_OP[op] ?? 't';
