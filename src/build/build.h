/* build.h - writing graph as expressions, of nodes of a dense graph or of lazy tensors.
 *
 *   formula     sn_build_binary(b, SN_OP_mul, x, sn_build_unary(b, SN_OP_exp, y))
 *   builder b   keeps the first failure: after it every call returns SN_NONE and does nothing, so a
 *               formula is written straight down and its status checked once
 *   maker       what b's nodes are: build_nodes.c, tensor/build_tensors.c
 *
 * Nodes have numbers, inputs smaller ones than their users. Types are canonical already: elementwise
 * inputs have equal shapes and dtypes. */
#ifndef SN_BUILD_BUILD_H
#define SN_BUILD_BUILD_H

#include "graph/regions.h"

typedef struct sn_build sn_build;

/* A node as a rule sees it. Pointers are good until the next node is added. */
typedef struct sn_build_node {
  sn_op op;
  size_t n_inputs, n_attrs;
  const int64_t *attrs;
  sn_origin origin;
} sn_build_node;

typedef struct sn_maker {
  /* As sn_graph_add: a node that exists already is found again. */
  sn_status (*add)(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs,
                   const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out);
  const sn_type *(*type)(const sn_build *b, sn_id id);
  sn_build_node (*node)(const sn_build *b, sn_id id);
  sn_id (*input)(const sn_build *b, sn_id id, size_t k);
  sn_control (*control)(const sn_build *b, sn_id id);
  /* An attribute that names a copy of *region. */
  sn_status (*region)(sn_build *b, const sn_graph *region, int64_t *attr);
} sn_maker;

struct sn_build {
  const sn_maker *maker;
  sn_arena *arena; /* for what is needed on the way */
  sn_graph *graph; /* that nodes are added to; NULL of another maker */
  uint32_t
      load_flops;   /* of the target (target/target.h): what of a loop is stacked, not made again */
  sn_origin origin; /* of nodes that are added */
  sn_dtype precision; /* to which derivatives are rounded where values were; SN_F32: are not */
  sn_status status;
};

/* build_nodes.c: a builder of nodes of graph. */
sn_build sn_build_in(sn_graph *graph);

static inline const sn_type *sn_build_type(const sn_build *b, sn_id x) {
  return b->maker->type(b, x);
}
static inline sn_build_node sn_build_node_of(const sn_build *b, sn_id x) {
  return b->maker->node(b, x);
}
static inline sn_id sn_build_input(const sn_build *b, sn_id x, size_t k) {
  return b->maker->input(b, x, k);
}

/* What is made from here on is a derivative of x. */
static inline void sn_build_derive(sn_build *b, sn_id x) {
  b->origin.call = sn_build_node_of(b, x).origin.call;
  b->origin.derivative = true;
}

sn_id sn_build_op(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs, const int64_t *attrs,
                  size_t n_attrs, const sn_type *type);
sn_id sn_build_unary(sn_build *b, sn_op op, sn_id x);
sn_id sn_build_binary(sn_build *b, sn_op op, sn_id x, sn_id y);
sn_id sn_build_where(sn_build *b, sn_id condition, sn_id x, sn_id y);
sn_id sn_build_full(sn_build *b, const sn_type *type, double value); /* broadcast constant */
sn_id sn_build_like(sn_build *b, sn_id x, double value);             /* full of x's type */
sn_id sn_build_cast(sn_build *b, sn_op op, sn_id x, sn_dtype dtype);
sn_id sn_build_reshape(sn_build *b, sn_id x, const sn_type *type); /* to type's dims */
sn_id sn_build_broadcast(sn_build *b, sn_id x, const sn_type *type);
sn_id sn_build_transpose(sn_build *b, sn_id x, const int64_t *perm);
sn_id sn_build_reduce(sn_build *b, sn_op op, sn_id x, uint64_t axes);
/* The result of a reduction over axes spread over type's shape again: a reshape and a broadcast. */
sn_id sn_build_spread(sn_build *b, sn_id x, const sn_type *type, uint64_t axes);
/* An op along one axis: gather, scatter, sort, scan; attrs begins with the axis. */
#define sn_build_along(b, op, attrs, ...)                              \
  sn_build_op((b), (op), (const sn_id[]){__VA_ARGS__},                 \
              sizeof((sn_id[]){__VA_ARGS__}) / sizeof(sn_id), (attrs), \
              sizeof(attrs) / sizeof *(attrs), NULL)
/* Windows along an axis (see ops.def); `out` of them, of `size` positions. */
sn_id sn_build_windows(sn_build *b, sn_id x, int axis, int64_t out, int64_t size, int64_t step,
                       int64_t dilation);
/* A slice or pad of one axis: x[at + i step], or 0 with x[i] at these places, as large as type. */
sn_id sn_build_part(sn_build *b, sn_op op, sn_id x, int64_t axis, int64_t at, int64_t step,
                    const sn_type *type);
/* One element of each of n values in turn along an axis, the first `out` of them. */
sn_id sn_build_weave(sn_build *b, const sn_id *x, int64_t n, int axis, int64_t out);
/* The sum over the blocks of x along an axis, added in pairs of neighbours, then pairs of these ...; 0 where there is none. */
sn_id sn_build_sum_blocks(sn_build *b, sn_id x, int64_t axis);
/* The same of n values, which it changes: n > 0. */
sn_id sn_build_sum_pairs(sn_build *b, sn_id *x, int64_t n);
sn_id sn_build_matmul(sn_build *b, sn_id x, sn_id y);
/* Result k of a node of control flow. */
sn_id sn_build_result(sn_build *b, sn_id node, size_t k, const sn_type *type);
sn_id sn_build_swap_last(sn_build *b, sn_id x); /* transpose of the last two axes */

#endif
