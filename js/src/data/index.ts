// sn.data: items for training, from arrays or any iterable, in an order that follows from a key.

export { Dataset, from, fromArrays, type BatchOptions, type ItemSource, type Pass, type Place, type ShuffleOptions, type Stacked } from './dataset.js';
