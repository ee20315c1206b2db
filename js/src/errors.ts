// Typed errors: a text such as "matmul: inner dimensions differ: a (2, 3), b (4, 5)", and its parts as fields. The function
// that raises an error gives the fields; for errors of the core they come from the core (sn_error in sinter.h).

/**
 * The kinds of errors. 'argument': an argument is wrong in another way than in shape or dtype; 'init': init() was not
 * awaited; 'load': a file of the package cannot be loaded; 'storage': a file, a disk or a network failed; 'internal': the
 * core stopped, which is a bug. The others have classes of their own, but a FitError and some plain SinterErrors have these
 * codes as well.
 */
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
  /** The shapes that the text names. */
  shapes?: readonly (readonly number[])[];
  /** What the caller can do about it. */
  hint?: string;
  cause?: unknown;
  /** The place in the core where it was raised. */
  file?: string;
  line?: number;
}

/** Sets the name that engines write at the head of a stack. Each class passes a literal, since bundlers shorten the
 *  names of classes. */
export function named(type: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true });
}

/** Every error that Sinter throws on purpose. */
export class SinterError extends Error {
  static {
    named(this, 'SinterError');
  }
  readonly code: ErrorCode;
  /** The function that refused, such as 'matmul', with which the message begins; '' if there is none. */
  readonly op: string;
  /** The shapes that the message names. */
  readonly shapes: readonly (readonly number[])[];
  /** What the caller can do about it, which ends the message; '' if there is nothing. */
  readonly hint: string;
  /** The place in the core where it was raised; '' and 0 for errors of JavaScript, whose stack says it. */
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

/** Shapes, ranks or axes do not fit each other. */
export class ShapeError extends SinterError {
  static {
    named(this, 'ShapeError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('shape', op, text, details);
  }
}

/** Dtypes do not fit each other, or the op. */
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

/** What was asked for is legal, but not available here or not yet. */
export class UnsupportedError extends SinterError {
  static {
    named(this, 'UnsupportedError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('unsupported', op, text, details);
  }
}

/**
 * A worker died. The pool is made anew; what was being computed is lost. Promises and calls that depend on a worker settle,
 * with this error or with their values, within a second after its end; Chromium ends a terminated worker only after two
 * seconds, in which it still computes. In two cases a call that waits for a worker does not notice its end: in Deno and Bun
 * always, and on a page if the worker was terminated together with the one that watches the others.
 */
export class WorkerError extends SinterError {
  static {
    named(this, 'WorkerError');
  }

  constructor(op: string, text: string, details?: ErrorDetails) {
    super('worker', op, text, details);
  }
}

/** The error for a status of the core; the numbers are those of sn_status in sinter.h. */
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

/** A shape as the core's messages write it: (2, 3) or (3,). */
export const shapeText = (shape: readonly (number | string)[]): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;

/** A ShapeError whose text names each of the shapes. */
export const shapesError = (op: string, text: string, named: readonly (readonly [string, readonly number[]])[]): ShapeError =>
  new ShapeError(op, `${text}: ${named.map(([name, shape]) => `${name} ${shapeText(shape)}`).join(', ')}`, { shapes: named.map(([, shape]) => shape) });

/** The error for bytes or trees that are not what was saved. */
export const damagedError = (op: string, why: string): SinterError => new SinterError('argument', op, `damaged: ${why}`);
