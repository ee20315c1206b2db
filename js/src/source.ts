// sinter/source: what writes JavaScript for inspect(...).jsSource(). A script of its own, since a page that writes none
// need not download it; in Node it is loaded when it is asked for.
//
// It is written in TypeScript over what the core tells of a graph (sn_program_graph), and not in C beside csource/: the
// names of arguments and the trees they are in are known to JavaScript alone, text costs less code there, and the module
// every page downloads stays as small as it is.

import { moduleText } from './source/module.js';
import { WRITER, type Writers } from './writer.js';

(globalThis as Writers)[WRITER] = moduleText;
