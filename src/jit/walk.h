/* walk.h - how emitted code walks memory, over leaves on walkers (leaves.h). Everything is
 * described first (sn_walk_leaf ...), then written. */
#ifndef SN_JIT_WALK_H
#define SN_JIT_WALK_H

#include "jit/leaves.h"

/* bases: NULL where leaves lie at parameters only. */
sn_status sn_walk_begin(sn_walk *k, sn_arena *arena, sn_wasm *w, sn_vec_target target, int rank,
                        const int64_t *dims, sn_walk_bases *bases);

/* A leaf of the section under way: elements of dtype at base + offset + sum index * strides
 * (offset, strides in elements). Returns its number. */
uint32_t sn_walk_leaf(sn_walk *k, sn_dtype dtype, sn_walk_base base, int64_t offset,
                      const int64_t *strides);
/* The leaf is where int32 of leaf `index` says, `stride` elements apart, `length` of them. */
void sn_walk_look_up(sn_walk *k, uint32_t leaf, uint32_t index, int64_t stride, int64_t length);
uint32_t sn_walk_number(sn_walk *k, uint32_t param);  /* a parameter's own number */
sn_vec_value sn_walk_read(sn_walk *k, uint32_t leaf); /* its elements, as nodes */
void sn_walk_write(sn_walk *k, uint32_t leaf, const sn_vec_value *value);

/* The leaf lives in registers, `vectors` of them reserved, while its kind says so. */
void sn_walk_reserve(sn_walk *k, uint32_t leaf, uint32_t vectors);
/* Stores them one behind the other, from the address in local `to` + bytes on. */
void sn_walk_spill(const sn_walk *k, uint32_t leaf, uint32_t vectors, uint32_t to, uint32_t bytes);

/* ---- writing --------------------------------------------------------------------------------- */

/* After describing, at the function's begin: bases, then what is computed once per call. */
sn_status sn_walk_start(sn_walk *k);

/* Sets index[from..to) to the position of point `flat` (a local) of these dims. */
void sn_walk_locate(sn_walk *k, int from, int to, uint32_t flat);

/* Sets the section's pointers from the index. */
void sn_walk_point(sn_walk *k, uint32_t section);
void sn_walk_reset(sn_walk *k, uint32_t leaf); /* only this one's, which follows its base */

/* Body and stores of k->count (a local, changed) elements of a run; pointers end behind them. */
void sn_walk_run(sn_walk *k, uint32_t section);

/* `left` (a local, changed) points of dims first.. of the nest, from the index on. Where both are
 * always multiples of some number, or end with the nest, k->unit says so. */
void sn_walk_points(sn_walk *k, uint32_t section, int first, uint32_t left);

/* Where a run of the innermost dim is at its end: on to the next one of dims first.. . */
void sn_walk_wrap(sn_walk *k, uint32_t section, int first);

/* Where a run of the section begins: what stays the same during it is computed. */
void sn_walk_enter(sn_walk *k, uint32_t section);

/* One copy of the body, `turn` vectors behind the pointers. */
void sn_walk_copy(sn_walk *k, uint32_t section, sn_copy copy, uint32_t turn);
/* A full one `shift` elements behind them, with the registers of the first. */
void sn_walk_copy_at(sn_walk *k, uint32_t section, uint32_t shift);
void sn_walk_advance(sn_walk *k, uint32_t section, int32_t elements);

/* Nodes per vector: how long the body is; with rare ones, how much code. */
uint32_t sn_walk_length(const sn_walk *k, uint32_t section, bool rare);

#endif
