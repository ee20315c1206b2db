/* apart.h - for who takes a program out of the heap object by object (wasm/standalone/). */
#ifndef SN_BASE_APART_H
#define SN_BASE_APART_H

#include <stdbool.h>

/* True: each block of an arena has a chunk for itself from now on, so that the blocks of the heap are the objects. */
extern bool sn_arena_apart;

#endif
