#include "tensor/post_order.h"

sn_status sn_input_ids(sn_arena *arena, const sn_tensor *t, sn_id *few, sn_id **out) {
  *out = few;
  if (t->n_inputs > SN_MAX_ARITY)
    SN_TRY(sn_arena_alloc(arena, t->n_inputs, sizeof **out, (void **)out));
  for (uint32_t k = 0; k < t->n_inputs; k++) (*out)[k] = t->inputs[k]->id;
  return SN_OK;
}

static sn_status push(sn_post_order *w, sn_tensor *t) {
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->stack, &w->cap_stack, w->n_stack, sizeof *w->stack));
  w->stack[w->n_stack++] = t;
  return SN_OK;
}

/* A tensor stays on the stack until all its inputs have numbers; each is looked at once per input. */
sn_status sn_walk_from(sn_post_order *w, sn_tensor *root) {
  SN_TRY(push(w, root));
  while (w->n_stack) {
    sn_tensor *t = w->stack[w->n_stack - 1];
    bool leaf = sn_is_visited(w->ctx, t);
    if (!leaf) SN_TRY(w->meet(w->user, t, &leaf));
    bool ready = true;
    for (uint32_t k = 0; !leaf && k < t->n_inputs; k++) {
      if (sn_is_visited(w->ctx, t->inputs[k])) continue;
      SN_TRY(push(w, t->inputs[k]));
      ready = false;
    }
    if (!ready) continue;
    if (!leaf) SN_TRY(w->finish(w->user, t));
    w->n_stack--;
  }
  return SN_OK;
}
