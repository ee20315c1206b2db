/* vmap_rules.c - one more axis in front, for every op. For most ops the new axis is just another one that they leave
 * alone: attributes that refer to axes are shifted by one (sn_attrs_behind_axis), and inputs that all examples share are
 * broadcast along it. The other ops have a rule below; most of these rules fold the new axis into an existing one:
 *
 *   fold at axis p     (B, ..., n, ...)  ->  (..., B, n, ...)  ->  (..., B n, ...)
 *   unfold at axis p   the way back */
#include "batching/vmap_rules.h"

#include "graph/attributes.h"
#include "graph/conv_shape.h"

static int rank_of(const sn_vmap_context *s, size_t k) {
  return sn_build_type(s->b, s->x[k])->rank;
}

/* Input k with the new axis. */
static sn_id whole(const sn_vmap_context *s, size_t k) {
  if (s->b->status || s->batch[k] != SN_NONE) return s->b->status ? SN_NONE : s->batch[k];
  const sn_type type = sn_type_stacked(sn_build_type(s->b, s->x[k]), s->size);
  return sn_build_broadcast(s->b, s->x[k], &type);
}

static sn_id move_axis(sn_build *b, sn_id x, int from, int to) {
  int64_t perm[SN_MAX_RANK];
  if (b->status || from == to) return b->status ? SN_NONE : x;
  sn_move_axis(sn_build_type(b, x)->rank, from, to, perm);
  return sn_build_transpose(b, x, perm);
}

static sn_id fold(const sn_vmap_context *s, size_t k, int p) {
  const sn_id x = move_axis(s->b, whole(s, k), 0, p);
  if (s->b->status) return SN_NONE;
  const sn_type split = *sn_build_type(s->b, x);
  sn_type merged = {.dtype = split.dtype, .rank = split.rank - 1};
  for (int i = 0; i < merged.rank; i++) merged.dims[i] = split.dims[i < p ? i : i + 1];
  merged.dims[p] *= s->size;
  return sn_build_reshape(s->b, x, &merged);
}

static sn_id unfold(const sn_vmap_context *s, sn_id x, int p) {
  if (s->b->status) return SN_NONE;
  sn_type split = {.dtype = s->y.dtype, .rank = s->y.rank + 1};
  for (int i = 0; i < split.rank; i++) split.dims[i] = s->y.dims[i <= p ? i : i - 1];
  split.dims[p] = s->size;
  return move_axis(s->b, sn_build_reshape(s->b, x, &split), p, 0);
}

/* ---- by the attributes ----------------------------------------------------------------------- */

static sn_id by_attributes(const sn_vmap_context *s) {
  int64_t attrs[SN_MAX_ATTRS];
  sn_id *inputs;
  const sn_type type = sn_type_stacked(&s->y, s->size);
  if ((s->b->status = sn_arena_alloc(s->b->arena, s->n, sizeof *inputs, (void **)&inputs)))
    return SN_NONE;
  for (size_t k = 0; k < s->n; k++) inputs[k] = whole(s, k);
  const size_t n_attrs = sn_attrs_behind_axis(s->op, s->attrs, rank_of(s, 0), attrs);
  return sn_build_op(s->b, s->op, inputs, s->n, attrs, n_attrs, &type);
}

/* ---- by a rule of their own ------------------------------------------------------------------ */

/* Broadcast matches dims from the last one. So the dims that y has more than x are inserted behind the new axis. */
static sn_id vmap_broadcast(const sn_vmap_context *s) {
  const sn_type type = sn_type_stacked(&s->y, s->size), *x = sn_build_type(s->b, s->batch[0]);
  sn_type level = {.dtype = type.dtype, .rank = type.rank, .dims = {s->size}};
  const int more = type.rank - x->rank;
  for (int i = 1; i < type.rank; i++) level.dims[i] = i <= more ? 1 : x->dims[i - more];
  return sn_build_broadcast(s->b, sn_build_reshape(s->b, s->batch[0], &level), &type);
}

/* If all examples share one operand, one product serves them all: the examples become more rows of the
 * first operand, or more columns of the second. */
static sn_id vmap_matmul(const sn_vmap_context *s) {
  const int rows = s->y.rank - 2, columns = s->y.rank - 1;
  if (s->batch[1] == SN_NONE)
    return unfold(s, sn_build_matmul(s->b, fold(s, 0, rows), s->x[1]), rows);
  if (s->batch[0] == SN_NONE)
    return unfold(s, sn_build_matmul(s->b, s->x[0], fold(s, 1, columns)), columns);
  return by_attributes(s);
}

/* groups: factor for the number of groups; folded: the axis of the result into which examples are folded. */
static sn_id conv(const sn_vmap_context *s, sn_id x, sn_id w, int64_t groups, int folded) {
  if (s->b->status) return SN_NONE;
  const int axes = s->y.rank - 2;
  int64_t attrs[SN_CONV_ATTRS(SN_CONV_AXES)];
  for (size_t i = 0; i < s->n_attrs; i++) attrs[i] = s->attrs[i];
  attrs[4 * axes] *= groups;
  sn_type type = s->y;
  type.dims[folded] *= s->size;
  return unfold(s, sn_build_op(s->b, SN_OP_conv, (sn_id[]){x, w}, 2, attrs, s->n_attrs, &type),
                folded);
}

/* If examples share the filter, they become more images. If they share the image, and there are no
 * groups, their filters become more output channels. Else each example becomes a group of channels. */
static sn_id vmap_conv(const sn_vmap_context *s) {
  const int channels = s->y.rank - 1;
  const sn_conv_attrs c = sn_conv_of(s->attrs, s->y.rank - 2);
  if (s->batch[1] == SN_NONE) return conv(s, fold(s, 0, 0), s->x[1], 1, 0);
  if (s->batch[0] == SN_NONE && c.groups == 1)
    return conv(s, s->x[0], fold(s, 1, c.transpose_filter ? channels - 1 : channels), 1, channels);
  return conv(s, fold(s, 0, channels), fold(s, 1, channels), s->size, channels);
}

/* If all examples share the table, they become more lookups in it. */
static sn_id vmap_gather(const sn_vmap_context *s) {
  const int axis = (int)s->attrs[0];
  if (s->batch[0] != SN_NONE) return by_attributes(s);
  const sn_id inputs[] = {s->x[0], fold(s, 1, axis)};
  return unfold(s, sn_build_op(s->b, SN_OP_gather, inputs, 2, s->attrs, 1, NULL), axis);
}

/* If all examples share the rows of blocks, they become more rows of x. */
static sn_id vmap_product_of_blocks(const sn_vmap_context *s) {
  if (s->batch[1] != SN_NONE || rank_of(s, 1) > 2) return by_attributes(s);
  return sn_build_op(s->b, s->op, (sn_id[]){s->batch[0], s->x[1]}, 2, s->attrs, 1, NULL);
}

sn_vmap_rule *sn_vmap_rule_of(sn_op op) {
  switch ((int)op) {
  case SN_OP_broadcast: return vmap_broadcast;
  case SN_OP_matmul: return vmap_matmul;
  case SN_OP_conv: return vmap_conv;
  case SN_OP_gather: return vmap_gather;
  case SN_OP_matmul_blocks:
  case SN_OP_matmul_dequantized: return vmap_product_of_blocks;
  default: return by_attributes;
  }
}
