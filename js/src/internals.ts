// What the other entry points of the package (sinter/logic) use of it besides its public functions. They reach it through
// index.js alone, so that a page has every class and every function once.

export { checkChoice, checkInteger, checkIntegers, checkNumber, isPlainObject, shown, shownList } from './check.js';
export { isFloat } from './dtype.js';
export { readOptions, type OptionSchema } from './options.js';
