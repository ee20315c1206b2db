// The sixteen functions of two bits, relaxed to numbers from 0 to 1.
//
// The number of a function is its truth table: bit 3 is its value at (0, 0), bit 2 at (0, 1), bit 1 at (1, 0), bit 0 at (1, 1).
// On bits each function equals c0 + c1 a + c2 b + c3 a b. If a and b are independent probabilities, the same polynomial is the
// probability of a true result. So a mixture of the sixteen has this form, too, with mixed coefficients.

/** The names of the functions, by number. */
export const NAMES = [
  'false', 'a & b', 'a & !b', 'a', '!a & b', 'b', 'a ^ b', 'a | b',
  '!(a | b)', '!(a ^ b)', '!b', 'a | !b', '!a', '!a | b', '!(a & b)', 'true',
] as const;

export const FUNCTIONS = 16;
/** The function that passes its first input on. */
export const PASS_A = 3;
/** The function that passes its second input on. */
export const PASS_B = 5;

/** The value of function f at bits a and b. */
export const valueAt = (f: number, a: number, b: number): 0 | 1 => (((f >> (3 - 2 * a - b)) & 1) as 0 | 1);

/** [c0, c1, c2, c3] of the function with these values at (0, 0), (0, 1), (1, 0), (1, 1). */
export const coefficientsOf = ([at00, at01, at10, at11]: readonly [number, number, number, number]): [number, number, number, number] => [
  at00,
  at10 - at00,
  at01 - at00,
  at11 - at10 - at01 + at00,
];

/** The coefficients of the sixteen functions, a row each. */
export const COEFFICIENTS = Array.from({ length: FUNCTIONS }, (_, f) =>
  coefficientsOf([valueAt(f, 0, 0), valueAt(f, 0, 1), valueAt(f, 1, 0), valueAt(f, 1, 1)]),
);
