// Whether a function is being traced. Then compiled functions and derivatives that it calls become part of the trace
// instead of running; and while it is traced to be compiled, its tensors have no values.

let traces = 0;
let compilations = 0;

export const isTracing = (): boolean => traces > 0;
export const isCompiling = (): boolean => compilations > 0;

/** Tensors that the traced function must not use, since others stand for them; null: none. */
export let replaced: ReadonlySet<unknown> | null = null;

/** Runs f, during which others stand for these tensors. */
export function replacing<T>(tensors: readonly unknown[], f: () => T): T {
  if (tensors.length === 0) return f();
  const outer = replaced;
  replaced = new Set([...(outer ?? []), ...tensors]);
  try {
    return f();
  } finally {
    replaced = outer;
  }
}

/** Runs f as a part of a larger graph, as grad does. */
export function tracing<T>(f: () => T): T {
  traces++;
  try {
    return f();
  } finally {
    traces--;
  }
}

/** Runs f on placeholders, as jit does. */
export function compiling<T>(f: () => T): T {
  compilations++;
  try {
    return tracing(f);
  } finally {
    compilations--;
  }
}
