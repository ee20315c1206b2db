// All ops by name; those outside ONNX's own domain start with their domain.

import type { OpTable } from '../plan.js';
import { ATTENTION } from './attention.js';
import { BLOCKS } from './blocks.js';
import { CONTROL } from './control.js';
import { CONVOLUTION } from './convolution.js';
import { ELEMENTWISE } from './elementwise.js';
import { LINEAR } from './linear.js';
import { LOSS } from './loss.js';
import { NORM } from './norm.js';
import { QUANTIZE } from './quantize.js';
import { RECURRENT } from './recurrent.js';
import { REDUCTION } from './reduction.js';
import { RESIZE } from './resize.js';
import { SEQUENCE } from './sequence.js';
import { SHAPE } from './shape.js';
import { SIGNAL } from './signal.js';
import { TEXTS } from './texts.js';
import { TRAINING } from './training.js';

export const OPS: OpTable = {
  ...ELEMENTWISE,
  ...REDUCTION,
  ...SHAPE,
  ...LINEAR,
  ...CONVOLUTION,
  ...NORM,
  ...ATTENTION,
  ...RECURRENT,
  ...RESIZE,
  ...SIGNAL,
  ...QUANTIZE,
  ...BLOCKS,
  ...LOSS,
  ...CONTROL,
  ...SEQUENCE,
  ...TEXTS,
  ...TRAINING,
};
