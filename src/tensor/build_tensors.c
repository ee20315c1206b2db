#include "tensor/build_tensors.h"

#include <string.h>

#include "tensor/post_order.h"

/* The inputs in canonical order: for a commutative op the smaller number comes first. */
static const sn_id *in_order(sn_op op, const sn_id *inputs, sn_id *room) {
  if (!sn_op_describe(op)->commutative || inputs[0] <= inputs[1]) return inputs;
  room[0] = inputs[1];
  room[1] = inputs[0];
  return room;
}

/* ---- finding --------------------------------------------------------------------------------- */

static sn_id input_of(const sn_build *b, sn_id id, size_t k) {
  const sn_tensor *t = ((const sn_tensor_build *)b)->tensors[id];
  const bool swapped = sn_op_describe(t->op)->commutative && t->inputs[0]->id > t->inputs[1]->id;
  return t->inputs[swapped ? 1 - k : k]->id;
}

static bool same_node(const sn_tensor_build *tb, sn_id id, sn_op op, const sn_type *type,
                      const sn_id *inputs, size_t n_inputs, const int64_t *attrs, size_t n_attrs) {
  const sn_tensor *t = tb->tensors[id];
  if (t->op != op || t->n_inputs != n_inputs || t->n_attrs != n_attrs ||
      !sn_type_equal(&t->type, type) || !sn_same_bytes(t->attrs, attrs, n_attrs * sizeof *attrs))
    return false;
  for (size_t k = 0; k < n_inputs; k++)
    if (input_of(&tb->b, id, k) != inputs[k]) return false;
  return true;
}

/* *found is the number of an equal node, or SN_NONE; *slot is its place in the table. Markers are never
 * equal: variables are markers, and two variables of one value are still different. */
static sn_status find(sn_tensor_build *tb, sn_op op, const sn_type *type, const sn_id *inputs,
                      size_t n_inputs, const int64_t *attrs, size_t n_attrs, sn_id *found,
                      sn_id_slot **slot, uint32_t *hash) {
  *hash = sn_node_hash(op, type, inputs, n_inputs, attrs, n_attrs);
  SN_TRY(sn_id_table_reserve(tb->b.arena, &tb->table));
  *slot = sn_id_slot_at(&tb->table, *hash);
  while ((*slot)->number &&
         !((*slot)->hash == *hash &&
           same_node(tb, (*slot)->number - 1, op, type, inputs, n_inputs, attrs, n_attrs)))
    *slot = sn_id_slot_behind(&tb->table, *slot);
  const bool share = tb->ctx->options.pass_on[SN_PASS_cse] && op != SN_OP_marker;
  *found = share && (*slot)->number ? (*slot)->number - 1 : SN_NONE;
  return SN_OK;
}

/* ---- numbering ------------------------------------------------------------------------------- */

static sn_status append(sn_tensor_build *tb, sn_tensor *t) {
  SN_FAIL_IF(&tb->ctx->env, tb->n >= SN_NONE - 1, SN_ERR_MEMORY, "grad", "too many nodes");
  SN_TRY(sn_arena_grow(tb->b.arena, (void **)&tb->tensors, &tb->cap, tb->n, sizeof *tb->tensors));
  sn_visit(tb->ctx, t, (sn_id)tb->n);
  tb->tensors[tb->n++] = t;
  return SN_OK;
}

static sn_status meet(void *user, sn_tensor *t, bool *leaf) {
  sn_tensor_build *tb = user;
  SN_FAIL_IF(&tb->ctx->env, t->state == SN_TENSOR_USED_UP, SN_ERR_ARGUMENT, NULL,
             "a tensor that was donated to a program has no value any more");
  *leaf = t->state == SN_TENSOR_PLACEHOLDER || (t->state == SN_TENSOR_VALUE && !t->n_inputs);
  return *leaf ? append(tb, t) : SN_OK;
}

static sn_status finish(void *user, sn_tensor *t) {
  sn_tensor_build *tb = user;
  sn_id few[SN_MAX_ARITY], room[2], *inputs, found;
  sn_id_slot *slot;
  uint32_t hash;
  SN_TRY(sn_input_ids(tb->b.arena, t, few, &inputs));
  SN_TRY(find(tb, t->op, &t->type, in_order(t->op, inputs, room), t->n_inputs, t->attrs, t->n_attrs,
              &found, &slot, &hash));
  if (found != SN_NONE) {
    sn_visit(tb->ctx, t, found);
    return SN_OK;
  }
  if (!slot->number) sn_id_slot_take(&tb->table, slot, hash, (sn_id)tb->n);
  return append(tb, t);
}

/* ---- making ---------------------------------------------------------------------------------- */

static sn_status add(sn_build *b, sn_op op, const sn_id *inputs, size_t n_inputs,
                     const int64_t *attrs, size_t n_attrs, const sn_type *proposed, sn_id *out) {
  sn_tensor_build *tb = (sn_tensor_build *)b;
  const sn_type *few_types[SN_MAX_ARITY], **types = few_types;
  sn_tensor *few[SN_MAX_ARITY], **from = few, *t;
  sn_id room[2];
  if (n_inputs > SN_MAX_ARITY) {
    SN_TRY(sn_arena_alloc(b->arena, n_inputs, sizeof *types, (void **)&types));
    SN_TRY(sn_arena_alloc(b->arena, n_inputs, sizeof *from, (void **)&from));
  }
  inputs = in_order(op, inputs, room);
  for (size_t k = 0; k < n_inputs; k++) {
    from[k] = tb->tensors[inputs[k]];
    types[k] = &from[k]->type;
  }
  sn_type type = proposed ? *proposed : sn_type_scalar(SN_F32);
  SN_TRY(sn_infer(&tb->ctx->env, op, types, n_inputs, attrs, n_attrs, &type));
  sn_id_slot *slot;
  uint32_t hash;
  SN_TRY(find(tb, op, &type, inputs, n_inputs, attrs, n_attrs, out, &slot, &hash));
  if (*out != SN_NONE) return SN_OK;
  SN_TRY(sn_tensor_new(tb->ctx, op, from, n_inputs, attrs, n_attrs, &type, &t));
  const uint32_t call = t->origin.call;
  t->origin = b->origin;
  if (!t->origin.call) t->origin.call = call;
  const sn_status status = append(tb, t);
  if (status) {
    sn_release(t);
    return status;
  }
  *out = t->id;
  if (!slot->number) sn_id_slot_take(&tb->table, slot, hash, t->id);
  return SN_OK;
}

static const sn_type *type_of(const sn_build *b, sn_id id) {
  return &((const sn_tensor_build *)b)->tensors[id]->type;
}

static sn_build_node node_of(const sn_build *b, sn_id id) {
  const sn_tensor *t = ((const sn_tensor_build *)b)->tensors[id];
  return (sn_build_node){t->op, t->n_inputs, t->n_attrs, t->attrs, t->origin};
}

static sn_control control_of(const sn_build *b, sn_id id) {
  const sn_tensor *t = ((const sn_tensor_build *)b)->tensors[id];
  return sn_region_control(t->op, t->attrs, t->n_inputs);
}

static sn_status add_region(sn_build *b, const sn_graph *body, int64_t *attr) {
  sn_tensor_build *tb = (sn_tensor_build *)b;
  SN_TRY(sn_arena_grow(b->arena, (void **)&tb->regions, &tb->cap_regions, tb->n_regions,
                       sizeof *tb->regions));
  SN_TRY(sn_region_new(&tb->ctx->env, body, &tb->regions[tb->n_regions]));
  *attr = sn_region_attr(tb->regions[tb->n_regions++]);
  return SN_OK;
}

sn_status sn_tensor_build_begin(sn_tensor_build *tb, sn_context *ctx, sn_arena *arena,
                                sn_tensor *const *wrt, size_t n_wrt, sn_tensor *const *outputs,
                                size_t n_outputs) {
  static const sn_maker maker = {add, type_of, node_of, input_of, control_of, add_region};
  *tb = (sn_tensor_build){.b = {.maker = &maker, .arena = arena}, .ctx = ctx};
  tb->b.load_flops = ctx->options.target->costs.load_flops;
  tb->b.precision = ctx->precision;
  ctx->mark++;
  for (size_t i = 0; i < n_wrt; i++) {
    SN_FAIL_IF(&ctx->env, sn_is_visited(ctx, wrt[i]), SN_ERR_ARGUMENT, NULL,
               "the same tensor is given twice as an argument");
    SN_TRY(append(tb, wrt[i]));
    tb->n_borrowed = tb->n;
  }
  sn_post_order walk = {.ctx = ctx, .arena = arena, .user = tb, .meet = meet, .finish = finish};
  for (size_t i = 0; i < n_outputs; i++) {
    const sn_status status = sn_walk_from(&walk, outputs[i]);
    tb->n_borrowed = tb->n;
    SN_TRY(status);
  }
  return SN_OK;
}

sn_status sn_tensor_build_leaf(sn_tensor_build *tb, sn_tensor *t) {
  if (!sn_is_visited(tb->ctx, t)) SN_TRY(append(tb, t));
  tb->n_borrowed = tb->n;
  return SN_OK;
}

sn_status sn_tensor_build_results(const sn_tensor_build *tb, const sn_id *ids, size_t n,
                                  sn_tensor **out) {
  for (size_t i = 0; i < n; i++) {
    sn_tensor *x = tb->tensors[ids[i]];
    const sn_status status =
        sn_tensor_new(tb->ctx, SN_OP_marker, &x, 1, NULL, 0, &x->type, &out[i]);
    if (!status) continue;
    while (i--) sn_release(out[i]);
    return status;
  }
  return SN_OK;
}

void sn_tensor_build_end(sn_tensor_build *tb) {
  while (tb->n > tb->n_borrowed) sn_release(tb->tensors[--tb->n]);
  while (tb->n_regions) sn_region_release(tb->regions[--tb->n_regions]);
}
