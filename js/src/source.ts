// sinter/source: writes JavaScript for inspect(...).jsSource(). It is a script of its own, since a page that writes none
// need not download it; Node loads it on demand.
//
// It is written in TypeScript over the core's description of a graph (sn_program_graph), and not in C beside csource/: only
// JavaScript knows the names of arguments and the trees they are in, handling text takes less code there, and the module
// that every page downloads stays as small as it is.

import { moduleText } from './source/module.js';
import { WRITER, type Writers } from './writer.js';

(globalThis as Writers)[WRITER] = moduleText;
