/* walk.h - loops of emitted code over memory, by leaves on walkers (leaves.h). Everything is
 * described first (sn_walk_leaf ...), then written, since the writer needs to know all uses. */
#ifndef SN_JIT_WALK_H
#define SN_JIT_WALK_H

#include "jit/leaves.h"

/* bases may be NULL if no leaf has a base of kind SN_BASE_VALUE. */
sn_status sn_walk_begin(sn_walk *k, sn_arena *arena, sn_wasm *w, sn_vec_target target, int rank,
                        const int64_t *dims, sn_walk_bases *bases);

/* Adds a leaf to the section under way: elements of dtype at base + offset + sum index * strides,
 * offset and strides in elements. Returns its number. */
uint32_t sn_walk_leaf(sn_walk *k, sn_dtype dtype, sn_walk_base base, int64_t offset,
                      const int64_t *strides);
/* Makes the leaf a gather: its address also depends on the int32 that leaf `index` reads, which chooses one of `length`
 * positions, `stride` elements apart. A negative index counts from the end; then it is clamped to the range. */
void sn_walk_look_up(sn_walk *k, uint32_t leaf, uint32_t index, int64_t stride, int64_t length);
uint32_t sn_walk_number(sn_walk *k, uint32_t param);  /* a leaf that reads as the value of an int32 parameter */
sn_vec_value sn_walk_read(sn_walk *k, uint32_t leaf); /* the leaf's four elements as nodes */
void sn_walk_write(sn_walk *k, uint32_t leaf, const sn_vec_value *value);

/* Reserves `vectors` registers for the leaf, which lives there while its kind is SN_LEAF_REGISTERS. */
void sn_walk_reserve(sn_walk *k, uint32_t leaf, uint32_t vectors);
/* Stores these registers one behind the other, from (address in local `to`) + bytes on. */
void sn_walk_spill(const sn_walk *k, uint32_t leaf, uint32_t vectors, uint32_t to, uint32_t bytes);

/* ---- writing --------------------------------------------------------------------------------- */

/* After describing, at the begin of the function: writes the loads of the bases, then the nodes of level 0. */
sn_status sn_walk_start(sn_walk *k);

/* Sets index[from..to) to the indices of point `flat` (a local) of these dims. */
void sn_walk_locate(sn_walk *k, int from, int to, uint32_t flat);

/* Sets the section's pointers from the index. */
void sn_walk_point(sn_walk *k, uint32_t section);
void sn_walk_reset(sn_walk *k, uint32_t leaf); /* only this leaf's pointer, back to the base that it follows */

/* Writes body and stores of k->count (a local, changed) elements of a run. The pointers end behind them. */
void sn_walk_run(sn_walk *k, uint32_t section);

/* Writes the loops over `left` (a local, changed) points of dims first.. of the nest, from the index on. k->unit
 * divides the flat position where any call starts, and `left` unless the call ends with the nest. */
void sn_walk_points(sn_walk *k, uint32_t section, int first, uint32_t left);

/* If the innermost index is at its end: goes to the next run of dims first.. of the nest. */
void sn_walk_wrap(sn_walk *k, uint32_t section, int first);

/* At the begin of a run of the section: computes what stays the same during it (level 1). */
void sn_walk_enter(sn_walk *k, uint32_t section);

/* Writes one copy of the body for the vector that is `number` vectors behind the pointers. */
void sn_walk_copy(sn_walk *k, uint32_t section, sn_copy copy, uint32_t number);
/* Writes a full copy `shift` elements behind the pointers, with the registers of copy 0. */
void sn_walk_copy_at(sn_walk *k, uint32_t section, uint32_t shift);
void sn_walk_advance(sn_walk *k, uint32_t section, int32_t elements);

/* Nodes of level 2 of the section: without rare ones how long the body takes, with them how much code it is. */
uint32_t sn_walk_length(const sn_walk *k, uint32_t section, bool rare);

#endif
