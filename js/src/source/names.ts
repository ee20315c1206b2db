// Names in written source, chosen after what the values are.

const RESERVED =
  'break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await async of arguments eval sn dilate recurrence scatterAlongAxis';

/** The names in use in a scope. Those of an inner function may not hide outer names. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = RESERVED.split(' ')) {
    this.#taken = new Set(taken);
  }

  /** Claims the wanted name, with a number appended if it is taken. */
  claim(wanted: string): string {
    const base = /^[A-Za-z_$]/.test(wanted) ? wanted : `x${wanted}`;
    let name = base;
    for (let n = 2; this.#taken.has(name); n++) name = `${base}${/\d$/.test(base) ? '_' : ''}${n}`;
    this.#taken.add(name);
    return name;
  }

  /** The names for an inner function. It may use those in `free` again. */
  inner(free: readonly string[] = []): Names {
    return new Names([...this.#taken].filter((name) => !free.includes(name)));
  }
}

/** The last word in the path of a leaf: 'w1' for 'p.layers[0].w1'. */
export const lastWord = (path: string): string => [...path.matchAll(/[A-Za-z_$][\w$]*/g)].at(-1)?.[0] ?? '';

/** Names of values by the op that makes them. */
const BY_OP: Readonly<Record<string, string>> = {
  matmul: 'z', conv: 'z', relu: 'h', tanh: 'h', sigmoid: 'h', gelu: 'h', silu: 'h', mish: 'h', softplus: 'h', softmax: 'p',
  exp: 'e', sum: 'total', max: 'top', min: 'least', sort: 'sorted', argsort: 'order', gather: 'rows', iota: 'index', transpose: 'transposed',
  concat: 'joined', pad: 'padded', slice: 'part', scan: 'ys', equal: 'mask', not_equal: 'mask', less: 'mask', less_equal: 'mask',
  greater: 'mask', greater_equal: 'mask', logical_and: 'mask', logical_or: 'mask', logical_not: 'mask', isnan: 'mask',
};

export const nameOfOp = (op: string): string => BY_OP[op] ?? 't';
