/* post_order.h - a post-order walk over lazy tensors (inputs before users), without recursion. */
#ifndef SN_TENSOR_POST_ORDER_H
#define SN_TENSOR_POST_ORDER_H

#include "tensor/tensor.h"

typedef struct sn_post_order {
  sn_context *ctx;
  sn_arena *arena;
  void *user;
  /* Called when t is met. Sets *leaf if the walk stops there, and then also numbers t (sn_visit). */
  sn_status (*meet)(void *user, sn_tensor *t, bool *leaf);
  /* Called when all inputs of t have numbers. Has to number t (sn_visit). */
  sn_status (*finish)(void *user, sn_tensor *t);
  sn_tensor **stack;
  size_t n_stack, cap_stack;
} sn_post_order;

static inline bool sn_is_visited(const sn_context *ctx, const sn_tensor *t) {
  return t->mark == ctx->mark;
}

/* Gives t a number in the present walk and marks it as visited. */
static inline void sn_visit(const sn_context *ctx, sn_tensor *t, sn_id id) {
  t->mark = ctx->mark;
  t->id = id;
}

/* *out are the numbers of t's inputs, which have been visited: in `few`, with room for SN_MAX_ARITY, or in the arena. */
sn_status sn_input_ids(sn_arena *arena, const sn_tensor *t, sn_id *few, sn_id **out);

/* Visits root and all that it depends on, except what has been visited already. */
sn_status sn_walk_from(sn_post_order *w, sn_tensor *root);

#endif
