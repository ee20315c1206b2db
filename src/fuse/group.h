/* group.h - the heart: one structure for every fused kernel. A group is a loop nest over an index
 * space with named parts; the strip VM, and every further backend, reads this and nothing else.
 *
 *   for p in space (parallel)              kind         phases
 *     for each phase                       map          none
 *       for r in reduced                   reduce       one, that ends in one reduction; or over
 *                                                       bags of the reduced points
 *         body(p, r, totals, kept), stores row          several over one inner axis: softmax, norms
 *       totals = op(totals, ...)           contraction  none; total 0 = sum a(p, k) b(k, p) over k
 *     post(p, totals), stores              call         none, no post: one op with its own kernel
 *                                          control      none: control flow, over whole buffers
 *
 * A contraction may own a map over few points that runs before it and whose result it alone reads
 * (prologue.c). A scalar program is a map over a space of one point. A chain is a run of map, row
 * and contraction groups that go together through one block of rows after the other (chain.h).
 *
 * A body is straight-line SSA over the ops of the table; its loads are operands: a buffer, an
 * offset and one stride per dimension (0 broadcasts, negative flips). Dims that are contiguous in
 * every operand are merged. The factors of a product have a nest (nest.h) per axis instead of a
 * stride, so that several axes of a view, as im2col makes them, can be the m, n or k of a product. */
#ifndef SN_FUSE_GROUP_H
#define SN_FUSE_GROUP_H

#include "fuse/nest.h"
#include "graph/graph.h"
#include "target/target.h"

typedef enum sn_group_kind {
  SN_GROUP_MAP,
  SN_GROUP_REDUCE,
  SN_GROUP_ROW,
  SN_GROUP_CONTRACTION,
  SN_GROUP_CALL,
  SN_GROUP_CHAIN,
  SN_GROUP_CONTROL,
  SN_GROUP_KIND_COUNT
} sn_group_kind;

/* A buffer of the program. */
typedef enum sn_value_kind { SN_VALUE_ARGUMENT, SN_VALUE_OUTPUT, SN_VALUE_TEMP } sn_value_kind;

typedef struct sn_value {
  sn_value_kind kind;
  uint32_t argument; /* of SN_VALUE_ARGUMENT: the argument's number */
  sn_id node;        /* the node whose elements the buffer holds, row-major */
  sn_type type;
} sn_value;

/* The axes of a product's factor, which has a matrix per point of the batch. */
typedef enum sn_product_axis {
  SN_AXIS_BATCH,
  SN_AXIS_ACROSS, /* the rows of a, or the columns of b */
  SN_AXIS_ALONG,  /* k */
  SN_PRODUCT_AXES
} sn_product_axis;

/* How an operand's dimensions lie in its buffer. */
typedef enum sn_form {
  SN_FORM_STRIDES, /* a stride per dimension */
  SN_FORM_NESTS,   /* a nest per axis: only factors of products */
  SN_FORM_INDEXED  /* a stride per dimension and an index read from memory: only loads */
} sn_form;

/* A place in memory: of a body's load or store, a product's factor, or a call's lines. */
typedef struct sn_operand {
  uint32_t value; /* buffer; SN_NONE: none, the element is offset + sum index * stride (iota) */
  sn_dtype dtype; /* in memory: packing casts the small ones of a product to its total_dtype */
  sn_form form;
  int64_t offset; /* elements */
  int64_t strides[SN_MAX_RANK];
  union {
    struct sn_nests *nests;
    struct sn_indexing *indexing;
  };
} sn_operand;

typedef struct sn_nests {
  sn_nest of[SN_PRODUCT_AXES];
  sn_bounds bounds; /* positions outside of them have no element in memory and are 0 */
} sn_nests;

/* A dimension of the buffer along which an int32 index from another buffer gives the position, as
 * in op gather: a negative index counts from the end, and one that is still outside is clamped. */
typedef struct sn_indexing {
  sn_operand index;       /* where the indices lie; covers the same dimensions as the load */
  int64_t stride, length; /* of the indexed dimension */
} sn_indexing;

static inline bool sn_is_indexed(const sn_operand *o) { return o->form == SN_FORM_INDEXED; }

typedef enum sn_insn_kind {
  SN_INSN_LOAD,  /* operand args[0] */
  SN_INSN_CONST, /* value */
  SN_INSN_TOTAL, /* total args[0]: result of a reduction or of the contraction */
  SN_INSN_KEPT, /* the value that an earlier phase kept in slot args[0] for this point of the row */
  SN_INSN_OP    /* op(args...) */
} sn_insn_kind;

typedef struct sn_insn {
  sn_insn_kind kind;
  sn_op op;
  sn_dtype dtype;    /* of the result */
  sn_dtype in_dtype; /* of the last argument */
  uint32_t n_args;
  uint32_t args[SN_MAX_ARITY]; /* of an op: earlier instructions; else see sn_insn_kind */
  double value;
} sn_insn;

typedef struct sn_body {
  sn_insn *insns;
  uint32_t n_insns;
  sn_operand *operands;
  uint32_t n_operands;
} sn_body;

typedef struct sn_store {
  uint32_t insn; /* whose value is stored: an instruction of the body that the store follows */
  sn_operand target;
} sn_store;

typedef struct sn_reduction {
  sn_op op; /* sum, max, min ... */
  sn_dtype dtype;
  uint32_t insn; /* whose values are reduced: an instruction of the phase's body */
} sn_reduction;

/* Which loop of a chain's member runs only over the columns that count there (chain.h). */
typedef enum sn_limited {
  SN_LIMITED_NONE,
  SN_LIMITED_COLUMNS, /* the one over its columns, or over the points of its rows */
  SN_LIMITED_TERMS    /* the one over the terms of its sums, a contraction's k */
} sn_limited;

#define SN_MAX_TOTALS 16 /* most totals of a row group */
#define SN_MAX_KEPT 16

/* A value that is costly to make again: later phases read it as SN_INSN_KEPT `slot`. */
typedef struct sn_kept {
  uint32_t insn, slot;
} sn_kept;

/* One walk over the reduced points. The strides of its operands and stores cover the space, then
 * the reduced dims. */
typedef struct sn_phase {
  sn_body body; /* may read totals of earlier phases */
  sn_reduction *reductions;
  uint32_t n_reductions;
  uint32_t first_total; /* its reductions make totals first_total, first_total + 1 ... */
  sn_kept *keeps;
  uint32_t n_keeps;
  sn_store *stores;
  uint32_t n_stores;
} sn_phase;

/* What reduce and row groups do at each point of the space. A reduce group has one phase with one
 * reduction, and no kept values. If it is ragged, each index of space dim 0 has a bag: the run of
 * reduced points from the end of the bag before it up to its own end. (So a scatter whose indices
 * are known beforehand becomes a gather of sums.) A ragged group has one reduced dim, and the loads
 * of its phase have stride 0 along space dim 0. */
typedef struct sn_row {
  sn_phase *phases;
  uint32_t n_phases, n_totals;
  sn_dtype *kept; /* dtype of each slot */
  uint32_t n_kept;
  bool needs_masked; /* a reduction needs masked points too, so they must be computed (causal.c) */
  sn_operand *ends;  /* NULL; of a ragged group: int32, where each bag ends; covers the space */
} sn_row;

/* A product: the space is (batch..., m, n). */
typedef struct sn_contraction {
  sn_operand *factors; /* a and b */
  int64_t k;
  sn_dtype total_dtype;      /* of the sums, and of a and b once packed */
  struct sn_group *prologue; /* NULL, or a map that runs first as a whole (prologue.c) */
} sn_contraction;

/* One op along one axis, for every point of the space: strides of its operands and of stores[0]
 * cover the space, then the axis. */
typedef struct sn_call {
  sn_op op;
  sn_operand *operands; /* the op's inputs, in their order */
  int64_t *lengths;     /* of the axis in each operand */
  int64_t *starts; /* of a concat: where each operand begins in the result's line, then the end */
  uint32_t n_operands;
  int64_t length;         /* of the axis in the result */
  const int64_t *options; /* the op's attributes, without the axis if it has one */
} sn_call;

/* Control flow (graph/regions.h). Operands are its inputs in their order, each a run of elements in a buffer; store i
 * writes result results[i], a whole buffer. room and in_place are set once its regions have programs (program/rooms.h). */
typedef struct sn_control_flow {
  sn_id node;
  sn_operand *operands;
  uint32_t n_operands;
  uint32_t *results;
  sn_operand *room; /* the memory that its regions work in, or NULL */
  bool *in_place; /* per operand, if there is room: every round updates this carry in place */
} sn_control_flow;

/* The kind alone tells which member of the union there is. */
typedef struct sn_group {
  sn_group_kind kind;
  sn_limited limited;
  const char *name;             /* "matmul+add+relu" */
  int space_rank, reduced_rank; /* their sum is at most SN_MAX_RANK */
  int64_t space[SN_MAX_RANK];
  int64_t reduced[SN_MAX_RANK];

  sn_body post; /* strides cover space; of a chain: only operands, the buffers that it reads */
  sn_store *stores;
  uint32_t n_stores;

  double flops, bytes; /* of one run */

  union {
    sn_row row;                 /* reduce, row */
    sn_contraction contraction; /* contraction */
    sn_call call;               /* call */
    struct sn_chain *chain;     /* chain: chain.h */
    sn_control_flow control;    /* control */
  };
} sn_group;

/* Why an elementwise op did not join the group of its input. */
typedef enum sn_cut {
  SN_CUT_VIEW,       /* the input is read through a view: another index space */
  SN_CUT_TWO_TOTALS, /* the inputs come from two reductions or contractions */
  SN_CUT_LIMIT,      /* the group would get too large */
  SN_CUT_KIND        /* the input is made by pad, concat or a call */
} sn_cut;

typedef struct sn_cut_record {
  sn_id from, to;
  sn_cut why;
} sn_cut_record;

/* How groups are made. */
typedef struct sn_fuse_options {
  bool fusion; /* false: one kernel per op */
  bool excess; /* excess precision, where the target is not deterministic: excess.c */
} sn_fuse_options;

/* The graph cut into groups, in an order in which they can run. */
typedef struct sn_groups {
  const sn_graph *graph;
  const sn_target *target; /* the machine that the groups are made for */
  sn_fuse_options made;
  sn_group *groups;
  size_t n_groups;
  sn_value *values;
  size_t n_values;
  uint32_t *outputs; /* per graph output: its value, which is an argument's if that is returned */
  size_t n_outputs;
  sn_cut_record *cuts;
  size_t n_cuts;
  uint32_t *kernel_of; /* per node: the (last) group that computes it, or SN_NONE */
  uint32_t *repeats;   /* NULL, or per group: the one it repeats for a memory budget, or SN_NONE */
} sn_groups;

/* The name of a kind; "scalar" for a map over one point. */
const char *sn_group_kind_name(const sn_group *group);

/* 0 where the kind has none. */
static inline uint32_t sn_group_phases(const sn_group *g) {
  return g->kind == SN_GROUP_REDUCE || g->kind == SN_GROUP_ROW ? g->row.n_phases : 0;
}

/* NULL where there is none. */
static inline sn_group *sn_group_prologue(const sn_group *g) {
  return g->kind == SN_GROUP_CONTRACTION ? g->contraction.prologue : NULL;
}

static inline int64_t sn_group_points(const sn_group *g) {
  int64_t n = 1;
  for (int i = 0; i < g->space_rank; i++) n *= g->space[i];
  return n;
}

static inline int64_t sn_group_reduced_points(const sn_group *g) {
  int64_t n = 1;
  for (int i = 0; i < g->reduced_rank; i++) n *= g->reduced[i];
  return n;
}

#endif
