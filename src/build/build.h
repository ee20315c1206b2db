/* build.h - writes graphs as expressions, over nodes of a dense graph or over lazy tensors.
 *
 *   formula     sn_build_binary(b, SN_OP_mul, x, sn_build_unary(b, SN_OP_exp, y))
 *   builder b   keeps the first failure: after it every call returns SN_NONE and does nothing, so a
 *               formula is written straight down and its status checked once
 *   maker       functions that make b's nodes: build_nodes.c, tensor/build_tensors.c
 *
 * Nodes are numbers; inputs have smaller ones than their users. Types must be canonical: elementwise
 * inputs have equal shapes and dtypes. */
#ifndef SN_BUILD_BUILD_H
#define SN_BUILD_BUILD_H

#include "graph/regions.h"

typedef struct sn_build sn_build;

/* A node as derivative rules see it. Pointers are valid until the next node is added. */
typedef struct sn_build_node {
  sn_op op;
  size_t n_inputs, n_attrs;
  const int64_t *attrs;
  sn_origin origin;
} sn_build_node;

typedef struct sn_maker {
  /* Like sn_graph_add: a node that exists already is found again. */
  sn_status (*add)(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs,
                   const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_id *out);
  const sn_type *(*type)(const sn_build *b, sn_id id);
  sn_build_node (*node)(const sn_build *b, sn_id id);
  sn_id (*input)(const sn_build *b, sn_id id, size_t k);
  sn_control (*control)(const sn_build *b, sn_id id);
  /* Sets *attr to the attribute that refers to a copy of *region. */
  sn_status (*region)(sn_build *b, const sn_graph *region, int64_t *attr);
} sn_maker;

struct sn_build {
  const sn_maker *maker;
  sn_arena *arena; /* temporary memory */
  sn_graph *graph; /* the graph that nodes are added to; NULL for lazy tensors */
  /* Of the target (target/target.h): a derivative stacks a loop's values that cost at least so many
   * flops; cheaper ones are computed again. */
  uint32_t load_flops;
  sn_origin origin;   /* of the nodes that are added from now on */
  sn_dtype precision; /* derivatives are rounded to it as values were; SN_F32: not at all */
  sn_status status;
};

/* build_nodes.c: a builder that adds nodes to graph. */
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

/* Sets the origin of the nodes that are made from now on: they are derivatives of x. */
static inline void sn_build_derive(sn_build *b, sn_id x) {
  b->origin.call = sn_build_node_of(b, x).origin.call;
  b->origin.derivative = true;
}

/* type: NULL if it follows from the inputs (sn_infer). */
sn_id sn_build_op(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs, const int64_t *attrs,
                  size_t n_attrs, const sn_type *type);
sn_id sn_build_unary(sn_build *b, sn_op op, sn_id x);
sn_id sn_build_binary(sn_build *b, sn_op op, sn_id x, sn_id y);
sn_id sn_build_where(sn_build *b, sn_id condition, sn_id x, sn_id y);
sn_id sn_build_full(sn_build *b, const sn_type *type, double value); /* a broadcast constant */
sn_id sn_build_like(sn_build *b, sn_id x, double value);             /* the same, of x's type */
sn_id sn_build_cast(sn_build *b, sn_op op, sn_id x, sn_dtype dtype);
sn_id sn_build_reshape(sn_build *b, sn_id x, const sn_type *type); /* uses type's dims only */
sn_id sn_build_broadcast(sn_build *b, sn_id x, const sn_type *type);
sn_id sn_build_transpose(sn_build *b, sn_id x, const int64_t *perm);
sn_id sn_build_reduce(sn_build *b, sn_op op, sn_id x, uint64_t axes);
/* Broadcasts x, the result of a reduction over axes, back to type's shape: a reshape and a broadcast. */
sn_id sn_build_broadcast_back(sn_build *b, sn_id x, const sn_type *type, uint64_t axes);
/* An op along one axis: gather, scatter, sort, scan. The array attrs begins with the axis. */
#define sn_build_along(b, op, attrs, ...)                              \
  sn_build_op((b), (op), (const sn_id[]){__VA_ARGS__},                 \
              sizeof((sn_id[]){__VA_ARGS__}) / sizeof(sn_id), (attrs), \
              sizeof(attrs) / sizeof *(attrs), NULL)
/* `out` windows of `size` positions each along an axis (see ops.def). */
sn_id sn_build_windows(sn_build *b, sn_id x, int axis, int64_t out, int64_t size, int64_t step,
                       int64_t dilation);
/* A slice or pad along one axis, with the shape of type: element i is x[at + i step], or element
 * at + i step is x[i] and all others are 0. */
sn_id sn_build_part(sn_build *b, sn_op op, sn_id x, int64_t axis, int64_t at, int64_t step,
                    const sn_type *type);
/* Interleaves n values along an axis: one element of each in turn, and of all these the first `out`. */
sn_id sn_build_interleave(sn_build *b, const sn_id *x, int64_t n, int axis, int64_t out);
/* The sum of the blocks of x along an axis: pairs of neighbours are added, then pairs of these ...; 0 if there are none. */
sn_id sn_build_sum_blocks(sn_build *b, sn_id x, int64_t axis);
/* The same for n > 0 values. Overwrites the array x. */
sn_id sn_build_sum_pairs(sn_build *b, sn_id *x, int64_t n);
sn_id sn_build_matmul(sn_build *b, sn_id x, sn_id y);
/* Result k of a node of control flow. */
sn_id sn_build_result(sn_build *b, sn_id node, size_t k, const sn_type *type);
sn_id sn_build_swap_last(sn_build *b, sn_id x); /* transpose of the last two axes */

#endif
