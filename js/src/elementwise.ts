// The elementwise ops' functions, made from their names: written out one by one they would be a twentieth of what
// a page downloads. ops.gen.ts gives each its name, type and doc.

import { binary, ternary, unary } from './apply.js';
import { BINARY, FIRST, NAMES, UNARY } from './elementwise.gen.js';

export type Unary = ReturnType<typeof unary>;
export type Binary = ReturnType<typeof binary>;
export type Ternary = ReturnType<typeof ternary>;

const names = NAMES.split(' ');

/** By the order of NAMES. */
export const functions = names.map((name, at) =>
  (at < UNARY ? unary : at < UNARY + BINARY ? binary : ternary)(FIRST + at, name),
);

/** By their names in JavaScript. */
export const elementwise = Object.fromEntries(
  names.map((name, at) => [name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), functions[at]!]),
);
