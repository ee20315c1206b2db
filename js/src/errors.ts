// Typed errors: a text such as "matmul: inner dimensions differ: a (2, 3), b (4, 5)", and beside it what it says as
// fields. Whoever raises an error gives them; of the core's errors the core does (sn_error in sinter.h).

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
  | 'load'
  | 'storage'
  | 'numerics';

export interface ErrorDetails {
  /** Shapes that the text names. */
  shapes?: readonly (readonly number[])[];
  /** What to do about it. */
  hint?: string;
  cause?: unknown;
  /** Where in the core it was raised. */
  file?: string;
  line?: number;
}

/** Names a class where engines look for it when they write the head of a stack; a literal in each class, since
 *  bundlers shorten the names of classes. */
export function named(type: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true });
}

/** Every error that Sinter throws on purpose. */
export class SinterError extends Error {
  static {
    named(this, 'SinterError');
  }
  readonly code: ErrorCode;
  /** The function that refused, with which the message begins: 'matmul'; '' where it is none. */
  readonly op: string;
  /** Shapes that the message names. */
  readonly shapes: readonly (readonly number[])[];
  /** What to do about it; the end of the message. */
  readonly hint: string;
  /** Where in the core it was raised; '' and 0 where in JavaScript, as the stack says. */
  readonly file: string;
  readonly line: number;

  constructor(code: ErrorCode, op: string, text: string, details: ErrorDetails = {}) {
    const { shapes = [], hint = '', cause, file = '', line = 0 } = details;
    super(`${op && `${op}: `}${text}${hint && ` (${hint})`}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.op = op;
    this.shapes = shapes;
    this.hint = hint;
    this.file = file;
    this.line = line;
  }
}

/** Shapes, ranks or axes do not fit. */
export class ShapeError extends SinterError {
  static {
    named(this, 'ShapeError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('shape', op, text, details);
  }
}

/** Dtypes do not fit. */
export class DTypeError extends SinterError {
  static {
    named(this, 'DTypeError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('dtype', op, text, details);
  }
}

/** An allocation failed, or a size is beyond any memory. */
export class OutOfMemoryError extends SinterError {
  static {
    named(this, 'OutOfMemoryError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('memory', op, text, details);
  }
}

/** A tensor was used after dispose, after its scope, or after it was donated. */
export class DisposedError extends SinterError {
  static {
    named(this, 'DisposedError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('disposed', op, text, details);
  }
}

/** Legal, but not available here or not yet. */
export class UnsupportedError extends SinterError {
  static {
    named(this, 'UnsupportedError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('unsupported', op, text, details);
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

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('worker', op, text, details);
  }
}

/** The error of a status of the core; the numbers are those of sn_status in sinter.h. */
export function errorOfStatus(status: number, op: string, text: string, details?: ErrorDetails): SinterError {
  switch (status) {
    case 1:
      return new ShapeError(op, text, details);
    case 2:
      return new DTypeError(op, text, details);
    case 3:
      return new OutOfMemoryError(op, text, details);
    case 4:
      return new SinterError('argument', op, text, details);
    case 5:
      return new UnsupportedError(op, text, details);
    case 6:
      return new WorkerError(op, text, details);
    default:
      return new SinterError('internal', op, text, details);
  }
}

/** (2, 3) or (3,), as in the messages of the core. */
export const shapeText = (shape: readonly (number | string)[]): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;

/** What is wrong with shapes, each named. */
export const shapesError = (op: string, text: string, named: readonly (readonly [string, readonly number[]])[]): ShapeError =>
  new ShapeError(op, `${text}: ${named.map(([name, shape]) => `${name} ${shapeText(shape)}`).join(', ')}`, { shapes: named.map(([, shape]) => shape) });
