// sn.data: items for training, from arrays or any iterable, in an order that follows from a key.

export { fromLines, fromRecords, type RecordOptions } from './records.js';
export { Dataset, from, fromArrays, type BatchOptions, type ItemSource, type Pass, type Place, type ShuffleOptions, type Stacked } from './dataset.js';
