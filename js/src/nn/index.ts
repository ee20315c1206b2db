export { linear, relu, sequential, sigmoid, tanh, type LinearOptions, type LinearParams } from './layers.js';
export type { Module, NoParams } from './module.js';
