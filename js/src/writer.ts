// Where inspect(...).jsSource() finds the code that writes it: sinter/source puts it there, for all copies of the package.

import type { moduleText } from './source/module.js';

export const WRITER = Symbol.for('sinter.source');

export type Writers = { [WRITER]?: typeof moduleText };
