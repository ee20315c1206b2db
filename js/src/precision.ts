// Mixed precision: products recorded within it are rounded to 16 bits, their sums kept in 32 (sn_set_precision).

import { shown } from './check.js';
import { dtypeNumber } from './dtype.js';
import { DTypeError } from './errors.js';
import { runtime } from './runtime/runtime.js';

export type Precision = 'float32' | 'float16' | 'bfloat16';

const PRECISIONS: readonly unknown[] = ['float32', 'float16', 'bfloat16'] satisfies Precision[];

export function checkPrecision(op: string, given: unknown): Precision {
  if (PRECISIONS.includes(given)) return given as Precision;
  throw new DTypeError(op, `option precision is ${shown(given)}, expected 'float32', 'float16' or 'bfloat16'`);
}

/** Runs f; its ops are recorded within this precision, whatever the one around it. */
export function recordedIn<T>(op: string, precision: Precision = 'float32', f: () => T): T {
  const number = dtypeNumber(checkPrecision(op, precision));
  const { exports } = runtime();
  const outer = exports.sinter_set_precision(number);
  try {
    return f();
  } finally {
    exports.sinter_set_precision(outer);
  }
}
