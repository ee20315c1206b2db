// sinter/inline: the whole package in one file, with the module for one thread inside. For places where further
// files are in the way: bundles of other formats than ES modules, single-file pages, extensions, notebooks.

export * from './index.js';
