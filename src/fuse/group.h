/* group.h - the heart: one structure for every fused kernel. A group is a loop nest over an index
 * space with named parts; the strip VM, and every further backend, reads this and nothing else.
 *
 *   for p in space (parallel)
 *     for r in reduced                      kind        reduced / head
 *       head = op(head, pre(p, r))          map         no head
 *     post(p, head), stores                 reduce      head = reduction of pre over `reduced`
 *                                           contraction head = sum over k of a(p, k) b(k, p)
 *
 * A body is straight-line SSA over the ops of the table; its loads are operands: a buffer, an
 * offset and one stride per dimension (0 broadcasts, negative flips). Dims that are contiguous in
 * every operand are merged.
 */
#ifndef SN_FUSE_GROUP_H
#define SN_FUSE_GROUP_H

#include "graph/graph.h"

typedef enum sn_group_kind { SN_GROUP_MAP, SN_GROUP_REDUCE, SN_GROUP_CONTRACTION } sn_group_kind;

/* A buffer of the program. */
typedef enum sn_value_kind { SN_VALUE_ARGUMENT, SN_VALUE_OUTPUT, SN_VALUE_TEMP } sn_value_kind;

typedef struct sn_value {
  sn_value_kind kind;
  uint32_t argument; /* of an argument: its number */
  sn_id node;        /* whose elements it holds, row-major */
  sn_type type;
} sn_value;

typedef struct sn_operand {
  uint32_t value; /* buffer, or SN_NONE: the number offset + sum index * stride itself (iota) */
  sn_dtype dtype;
  int64_t offset; /* elements */
  int64_t strides[SN_MAX_RANK];
} sn_operand;

typedef enum sn_insn_kind {
  SN_INSN_LOAD,  /* operand args[0] */
  SN_INSN_CONST, /* value */
  SN_INSN_HEAD,  /* result of the reduction or contraction */
  SN_INSN_OP     /* op(args...) */
} sn_insn_kind;

typedef struct sn_insn {
  sn_insn_kind kind;
  sn_op op;
  sn_dtype dtype;    /* of the result */
  sn_dtype in_dtype; /* of the last argument */
  uint32_t n_args;
  uint32_t args[SN_MAX_ARITY]; /* earlier instructions; of a load: the operand */
  double value;
} sn_insn;

typedef struct sn_body {
  sn_insn *insns;
  uint32_t n_insns;
  sn_operand *operands;
  uint32_t n_operands;
} sn_body;

typedef struct sn_store {
  uint32_t insn; /* of post */
  sn_operand target;
} sn_store;

typedef struct sn_group {
  sn_group_kind kind;
  const char *name;             /* "matmul+add+relu" */
  int space_rank, reduced_rank; /* their sum is at most SN_MAX_RANK */
  int64_t space[SN_MAX_RANK];
  int64_t reduced[SN_MAX_RANK];

  sn_op head_op; /* reduce: sum, max, min; contraction: matmul */
  sn_dtype head_dtype;
  sn_body pre; /* reduce only; strides cover space then reduced */
  uint32_t pre_result;

  /* contraction: space is (batch..., m, n); operand strides cover (batch..., row, column) */
  sn_operand a, b;
  int64_t k;

  sn_body post; /* strides cover space */
  sn_store *stores;
  uint32_t n_stores;

  double flops, bytes; /* of one run */
} sn_group;

/* Why an elementwise op did not join the group of its input. */
typedef enum sn_cut {
  SN_CUT_VIEW,      /* the input is read through a view: another index space */
  SN_CUT_TWO_HEADS, /* the inputs come from two reductions or contractions */
  SN_CUT_LIMIT,     /* the group would get too large */
  SN_CUT_KIND       /* the input is made by pad or concat */
} sn_cut;

typedef struct sn_cut_record {
  sn_id from, to;
  sn_cut why;
} sn_cut_record;

/* The graph cut into groups, in an order in which they can run. */
typedef struct sn_groups {
  const sn_graph *graph;
  sn_group *groups;
  size_t n_groups;
  sn_value *values;
  size_t n_values;
  uint32_t *outputs; /* per graph output: its value; an argument's if it is returned as it is */
  size_t n_outputs;
  sn_cut_record *cuts;
  size_t n_cuts;
} sn_groups;

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
