// Functions of the op table with options of their own.

import { withTensor, type TensorLike } from './apply.js';
import { gelu as exactGelu } from './ops.gen.js';
import type { Tensor } from './tensor.js';

export const gelu = (x: TensorLike, { approximate }: { approximate: boolean }): Tensor =>
  approximate ? withTensor('gelu', x, (core, t) => core.sinter_gelu_tanh(t.use('gelu'))) : exactGelu(x);
