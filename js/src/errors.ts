// Typed errors. What fails in the core arrives as a status number and a text such as
// "matmul: inner dimensions differ: a (2, 3), b (4, 5)"; everything else about an error is read from it.

export type ErrorCode =
  | 'shape'
  | 'dtype'
  | 'memory'
  | 'argument'
  | 'unsupported'
  | 'worker'
  | 'internal'
  | 'disposed'
  | 'init'
  | 'load';

export interface ErrorDetails {
  /** The operation that refused, e.g. 'matmul'. Read from the message where not given. */
  op?: string;
  /** Shapes of its arguments. Read from the message where not given. */
  shapes?: readonly (readonly number[])[];
  /** What to do about it. */
  hint?: string;
  cause?: unknown;
}

const opOf = (message: string): string => /^([A-Za-z_][\w.]*):/.exec(message)?.[1] ?? '';

const shapesOf = (message: string): number[][] =>
  [...message.matchAll(/(?<=\s)\((\d+(?:, ?\d+)*,?|)\)/g)].map(([, inside]) =>
    (inside ?? '')
      .split(',')
      .filter((size) => size.trim() !== '')
      .map(Number),
  );

/** Names a class where engines look for it when they write the head of a stack; a literal in each class, since
 *  bundlers shorten the names of classes. */
function named(type: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true });
}

/** Every error that Sinter throws on purpose. */
export class SinterError extends Error {
  static {
    named(this, 'SinterError');
  }
  readonly code: ErrorCode;
  readonly op: string;
  readonly shapes: readonly (readonly number[])[];
  readonly hint: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(
      details.hint ? `${message} (${details.hint})` : message,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.code = code;
    this.op = details.op ?? opOf(message);
    this.shapes = details.shapes ?? shapesOf(message);
    this.hint = details.hint ?? '';
  }
}

/** Shapes, ranks or axes do not fit. */
export class ShapeError extends SinterError {
  static {
    named(this, 'ShapeError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('shape', message, details);
  }
}

/** Dtypes do not fit. */
export class DTypeError extends SinterError {
  static {
    named(this, 'DTypeError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('dtype', message, details);
  }
}

/** An allocation failed, or a size is beyond any memory. */
export class OutOfMemoryError extends SinterError {
  static {
    named(this, 'OutOfMemoryError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('memory', message, details);
  }
}

/** A tensor was used after dispose, after its scope, or after it was donated. */
export class DisposedError extends SinterError {
  static {
    named(this, 'DisposedError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('disposed', message, details);
  }
}

/** Legal, but not available here or not yet. */
export class UnsupportedError extends SinterError {
  static {
    named(this, 'UnsupportedError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('unsupported', message, details);
  }
}

/**
 * A worker died. The pool is made anew; what was being computed is lost. Promises and calls that depend on a worker
 * settle with this error, or with their values, within a second of its end; Chromium ends a terminated worker
 * only after two seconds, in which it still computes. Two ends go unnoticed by a call that waits for them: in
 * Deno and Bun any, and on a page that of a worker terminated together with the one that watches the others.
 */
export class WorkerError extends SinterError {
  static {
    named(this, 'WorkerError');
  }

  constructor(message: string, details?: ErrorDetails) {
    super('worker', message, details);
  }
}

/** The error of a status of the core; the numbers are those of sn_status in sinter.h. */
export function errorFromStatus(status: number, message: string, hint = ''): SinterError {
  switch (status) {
    case 1:
      return new ShapeError(message);
    case 2:
      return new DTypeError(message);
    case 3:
      return new OutOfMemoryError(message, { hint });
    case 4:
      return new SinterError('argument', message);
    case 5:
      return new UnsupportedError(message);
    case 6:
      return new WorkerError(message);
    default:
      return new SinterError('internal', message);
  }
}

/** (2, 3) or (3,), as in the messages of the core. */
export const shapeText = (shape: readonly (number | string)[]): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
