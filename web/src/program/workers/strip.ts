// TypeScript to JavaScript, a line for each line of the text.

import { transform } from 'sucrase';

export const stripTypes = (source: string): string =>
  transform(source, { transforms: ['typescript', 'imports'], disableESTransforms: true }).code;
