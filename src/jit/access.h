/* access.h - loads and stores of a leaf's vector of four elements (access.c). */
#ifndef SN_JIT_ACCESS_H
#define SN_JIT_ACCESS_H

#include "jit/leaves.h"

/* An sn_load_fn; user is an sn_walk, and an input's number is 2 * leaf + half. */
void sn_access_load(void *user, uint32_t number, uint32_t local);
void sn_access_store(sn_walk *k, const sn_walk_store *store);

/* Stores lane 0 of a register to the leaf's first element. */
void sn_access_put(sn_walk *k, uint32_t leaf, uint32_t local);

/* Sets the local k->place to the bytes that the leaf's lookup adds to the address of lane `lane`. */
void sn_access_find_place(const sn_walk *k, const sn_leaf *leaf, uint32_t lane);

#endif
