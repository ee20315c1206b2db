// sinter/parallel: modules made of n modules of one form, whose parameters are stacked along a new first axis. In a page,
// and in Node, they are computed one after the other. Several processes of sinter-train share them:
//
//   tensorParallel    side by side  x -> [ 1 | 2 | .. | n ] -> sum     each process has all of the batch, part of the products
//   pipelineParallel  one by one    x -> [1] -> [2] -> .. -> [n] -> y  each process has all parts of the batch, one by one
//
// A process has only the parameters of its own modules, their gradients and their part of the optimizer's state; the values
// between modules are what is sent. With 1, 2, 4 .. processes the bits are the same in strict mode: docs/train.md.

export type { Member, MemberOptions } from './stacked.js';
export { tensorParallel } from './tensor.js';
export { pipelineParallel, type PipelineOptions } from './pipeline.js';
