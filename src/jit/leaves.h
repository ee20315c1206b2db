/* leaves.h - what emitted code walks over memory with: leaves (what lane operations read and write,
 * four elements at a time) on walkers (pointers that move over the nest).
 *
 *   nest      dims, the last one innermost; index: locals with the position in each
 *   walker    pointer = base + sum index * strides, in bytes; leaves with equal bases and strides
 *             share one, their offsets become immediates
 *   run       elements along the innermost dim: vectors of four, then a partial one
 *
 * walk.h describes and writes a walk; access.h moves a leaf's vector between memory and
 * registers. */
#ifndef SN_JIT_LEAVES_H
#define SN_JIT_LEAVES_H

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
  uint32_t count;         /* local */
  uint32_t place, places; /* locals, for lookups: one, a vector of four */
  uint32_t shift;         /* elements behind the pointers */
  uint32_t turn;          /* number of the copy: which registers */
  int32_t most_copies;    /* of a body in a loop */
  int64_t unit;           /* see sn_walk_points */
} sn_walk;

#endif
