/* apart.h - a switch for code that copies a program out of the heap object by object (wasm/standalone/). */
#ifndef SN_BASE_APART_H
#define SN_BASE_APART_H

#include <stdbool.h>

/* If true, each block that an arena allocates from now on has a chunk of its own, so each heap block is one object. */
extern bool sn_arena_apart;

#endif
