export * from './layers.js';
export type { Module, NoParams } from './module.js';
