/* leaves.h - how emitted code addresses memory: leaves (what lane operations read and write, four
 * elements at a time) on walkers (pointers that move over the nest).
 *
 *   nest      the loop nest: dims, the last one innermost; locals hold the index in each
 *   walker    pointer = base + sum index * strides, in bytes; leaves with equal bases and strides
 *             share one, and their offsets become immediates of loads and stores
 *   run       the elements along the innermost dim: vectors of four, then a partial one
 *
 * walk.h describes and writes a walk; access.h moves a leaf's vector between memory and
 * registers. */
#ifndef SN_JIT_LEAVES_H
#define SN_JIT_LEAVES_H

#include "fuse/group.h"
#include "jit/expand.h"
#include "jit/write.h"

typedef enum sn_base_kind {
  SN_BASE_VALUE, /* the begin of a buffer of the program; number: its index in `values` */
  SN_BASE_PARAM, /* an address in a local, such as a parameter; number: the local */
  SN_BASE_NUMBER /* no memory: the "pointer" is the number itself (iota) */
} sn_base_kind;

typedef struct sn_walk_base {
  sn_base_kind kind;
  uint32_t number;
  bool follows;  /* the pointer starts at the base at whatever point the walk starts: totals of a strip, accumulators */
  bool restarts; /* and it is set back to the base during a run (sn_walk_reset) */
  int level;     /* least level (vector.h) of a read: above 0 if the contents change during the call */
} sn_walk_base;

typedef struct sn_walker {
  sn_walk_base base;
  int32_t strides[SN_MAX_RANK]; /* bytes */
  int32_t offset;               /* bytes in the pointer: the leaf's offset if a stride is negative or it is a number */
  uint16_t section;
  bool fixed;       /* all strides are 0: the pointer is the base itself */
  uint32_t pointer; /* local that holds the pointer */
} sn_walker;

typedef enum sn_leaf_kind { SN_LEAF_MEMORY, SN_LEAF_INDEX, SN_LEAF_REGISTERS } sn_leaf_kind;

/* An index that is read from memory and adds bytes to a leaf's address (a gather). */
typedef struct sn_lookup {
  uint32_t index;         /* the leaf, of int32, that holds the index */
  int32_t length, stride; /* number of positions; bytes from one to the next */
  uint32_t bytes;         /* local with the added bytes during a run; unused if the index changes within the run */
} sn_lookup;

typedef struct sn_leaf {
  sn_leaf_kind kind;
  sn_dtype dtype;
  uint32_t walker;
  uint32_t offset;    /* bytes behind the pointer */
  uint32_t registers; /* SN_LEAF_REGISTERS: the first of its v128 locals, one (float64: two) per copy of the body */
  int32_t step;       /* from one element of a run to the next: bytes; for an index the number itself */
  int level;          /* level of the nodes that read it (vector.h) */
  uint16_t section;
  sn_lookup lookup; /* length 0: none */
} sn_leaf;

typedef struct sn_walk_store {
  uint16_t section;
  uint32_t leaf;
  sn_vec_value value;
} sn_walk_store;

#define SN_WALK_COPIES SN_WRITE_COPIES /* most copies of a body in one loop (unrolling) */

/* What a copy of a loop's body does. */
typedef enum sn_copy {
  SN_COPY_FULL,    /* four elements */
  SN_COPY_PARTIAL, /* the first `count` of four elements; count is a local in 1..4 */
  SN_COPY_ONE      /* one element */
} sn_copy;

/* The locals that hold the addresses of values' buffers: local[v], valid only if walk[v] == now, the
 * number of the present walk. All walks of a module share the table, one after the other, since each
 * kernel touches few of the program's values: a new walk invalidates it without clearing it. */
typedef struct sn_walk_bases {
  uint32_t *local, *walk; /* per value */
  uint32_t now;
} sn_walk_bases;

typedef struct sn_walk {
  sn_arena *arena;
  sn_wasm *w;
  sn_vecs lanes;
  sn_writer writer;
  sn_status status; /* first failure while describing */
  int rank;
  int64_t dims[SN_MAX_RANK];
  uint32_t index[SN_MAX_RANK];
  uint32_t values; /* the parameter with the buffers' addresses (lower_kernel.h) */
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
  uint32_t place, places; /* locals for lookups: the bytes of one index, of a vector of four */
  uint32_t shift;         /* elements from the pointers to the copy's first */
  uint32_t copy_number;   /* says which registers of a leaf the copy uses */
  int32_t most_copies;    /* limit on the copies of a body in one loop */
  int64_t unit;           /* see sn_walk_points */
} sn_walk;

#endif
