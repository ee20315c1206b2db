/* walk.h - how emitted code walks memory: leaves (what lane operations read and write, four
 * elements at a time) on walkers (pointers that move over the nest).
 *
 *   nest      dims, the last one innermost; index: locals with the position in each
 *   walker    pointer = base + sum index * strides, in bytes; leaves with equal bases and strides
 *             share one, their offsets become immediates
 *   run       elements along the innermost dim: vectors of four, then a partial one
 *
 * Everything is described first (sn_walk_leaf ...), then written. */
#ifndef SN_JIT_WALK_H
#define SN_JIT_WALK_H

#include "fuse/group.h"
#include "jit/expand.h"
#include "jit/write.h"

typedef enum sn_base_kind {
  SN_BASE_VALUE, /* where a buffer of the program begins; number: which */
  SN_BASE_PARAM, /* a parameter + bytes; number: its local */
  SN_BASE_NUMBER /* no memory: the pointer is the number itself (iota) */
} sn_base_kind;

typedef struct sn_walk_base {
  sn_base_kind kind;
  uint32_t number;
  bool follows;  /* starts at the base wherever the walk does: totals of a strip, accumulators */
  bool restarts; /* and is set back during a run */
  int level;     /* least level of what is read there: contents that change */
} sn_walk_base;

typedef struct sn_walker {
  sn_walk_base base;
  int32_t strides[SN_MAX_RANK]; /* bytes */
  int32_t offset;               /* bytes; in the pointer where a stride is negative */
  uint16_t section;
  bool fixed;       /* all strides 0: the base itself */
  uint32_t pointer; /* local */
} sn_walker;

typedef enum sn_leaf_kind { SN_LEAF_MEMORY, SN_LEAF_INDEX, SN_LEAF_REGISTERS } sn_leaf_kind;

/* Bytes that an index adds to a leaf's address. */
typedef struct sn_lookup {
  uint32_t index;         /* a leaf of int32 */
  int32_t length, stride; /* positions, bytes between them */
  uint32_t bytes;         /* local that has them during a run, unless the index changes within it */
} sn_lookup;

typedef struct sn_leaf {
  sn_leaf_kind kind;
  sn_dtype dtype;
  uint32_t walker;
  uint32_t offset;    /* bytes behind the pointer */
  uint32_t registers; /* the first of as many v128 locals as a loop has copies */
  int32_t step;       /* along the innermost dim: bytes, of an index the number itself */
  int level;          /* as of the nodes that read it */
  uint16_t section;
  sn_lookup lookup; /* length 0: there is none */
} sn_leaf;

typedef struct sn_walk_store {
  uint16_t section;
  uint32_t leaf;
  sn_vec_value value;
} sn_walk_store;

#define SN_WALK_COPIES SN_WRITE_COPIES /* at most, of a body in a loop */

/* How a copy of a loop's body is written. */
typedef enum sn_copy {
  SN_COPY_FULL,    /* four elements */
  SN_COPY_PARTIAL, /* the first `count` of four, count a local in 1..4 */
  SN_COPY_ONE      /* one */
} sn_copy;

/* Which local has the pointer to a value's buffer: local[v], if it was the present walk, number
 * `now`, that put it there. One table for all walks of a module, which begin one after the other:
 * each kernel touches few of the program's values. */
typedef struct sn_walk_bases {
  uint32_t *local, *walk; /* per value */
  uint32_t now;
} sn_walk_bases;

typedef struct sn_walk {
  sn_arena *arena;
  sn_wasm *w;
  sn_vecs lanes;
  sn_writer writer;
  sn_status status; /* of describing */
  int rank;
  int64_t dims[SN_MAX_RANK];
  uint32_t index[SN_MAX_RANK];
  uint32_t values; /* the parameter */
  sn_walker *walkers;
  size_t n_walkers, cap_walkers;
  sn_leaf *leaves;
  size_t n_leaves, cap_leaves;
  sn_walk_store *stores;
  size_t n_stores, cap_stores;
  sn_walk_bases *bases;
  /* the copy being written */
  sn_copy copy;
  uint32_t count;      /* local */
  uint32_t place;      /* local, for lookups */
  uint32_t shift;      /* elements behind the pointers */
  uint32_t turn;       /* number of the copy: which registers */
  int32_t most_copies; /* of a body in a loop */
  int64_t unit;        /* see sn_walk_points */
} sn_walk;

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

/* One copy of the body, `turn` vectors behind the pointers. */
/* Where a run of the section begins: what stays the same during it is computed. */
void sn_walk_enter(sn_walk *k, uint32_t section);

void sn_walk_copy(sn_walk *k, uint32_t section, sn_copy copy, uint32_t turn);
void sn_walk_advance(sn_walk *k, uint32_t section, int32_t elements);

/* Nodes per vector: how long the body is; with rare ones, how much code. */
uint32_t sn_walk_length(const sn_walk *k, uint32_t section, bool rare);

/* ---- small words of emitted code ------------------------------------------------------------- */

static inline void sn_emit_add(sn_wasm *w, uint32_t local, int32_t amount) {
  sn_emit_get(w, local);
  sn_emit_i32(w, amount);
  sn_emit(w, SN_WASM_i32_add);
  sn_emit_set(w, local);
}

/* while (local >= least) { */
static inline void sn_emit_while(sn_wasm *w, uint32_t local, int32_t least) {
  sn_emit_block(w, SN_WASM_block);
  sn_emit_get(w, local);
  sn_emit_i32(w, least);
  sn_emit(w, SN_WASM_i32_lt_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit_block(w, SN_WASM_loop);
}

/* } */
static inline void sn_emit_repeat(sn_wasm *w, uint32_t local, int32_t least) {
  sn_emit_get(w, local);
  sn_emit_i32(w, least);
  sn_emit(w, SN_WASM_i32_ge_s);
  sn_emit_index(w, SN_WASM_br_if, 0);
  sn_emit(w, SN_WASM_end);
  sn_emit(w, SN_WASM_end);
}

#endif
