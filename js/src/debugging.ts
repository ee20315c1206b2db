// The namespace debug.

export { checkNumerics, NumericsError, type SeenValue } from './numerics.js';
