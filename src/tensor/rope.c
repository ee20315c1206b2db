/* rope.c - rotary position embedding: pairs of a token's elements, as points of a plane, are rotated
 * about the origin by the token's position times a speed, which differs from pair to pair.
 *
 *   x (..., tokens, size) -> points (..., tokens, 2, size / 2), or (..., size / 2, 2) interleaved
 *   y = points cos + (points with their coordinates exchanged) sin (-1, 1)                      */
#include <math.h>

#include "graph/reference.h"
#include "tensor/compose.h"

/* What the angles are computed from: tables, or a base and the position of the first token. */
typedef struct turning {
  double base; /* NAN: 10000 */
  sn_tensor *offset, *cos, *sin;
  bool interleaved;
} turning;

static sn_status check_rope(const sn_tensor *x, const turning *r) {
  static const char what[] = "rope";
  sn_env *env = &x->ctx->env;
  const sn_tensor *given[] = {r->offset, r->cos, r->sin};
  for (int i = 0; i < 3; i++)
    if (given[i]) SN_TRY(sn_same_context(x, given[i], what));
  SN_FAIL_IF(env, x->type.rank < 2 || x->type.dims[x->type.rank - 1] % 2, SN_ERR_SHAPE, what,
             "needs (..., tokens, size) with an even size: a %*p", x->type.rank, x->type.dims);
  SN_FAIL_IF(env, !r->cos != !r->sin, SN_ERR_ARGUMENT, what, "cos and sin are needed together");
  SN_FAIL_IF(env, r->cos && (!isnan(r->base) || r->offset), SN_ERR_ARGUMENT, what,
             "base and offset do not count beside cos and sin");
  return SN_OK;
}

/* The angles: the position of each token times the speed base ^ (-2 i / size) of each pair i. */
static sn_tensor *angles(sn_context *ctx, const turning *r, sn_dtype dtype, int64_t tokens,
                         int64_t size) {
  const double base = isnan(r->base) ? 10000 : r->base;
  const double log_base = sn_ref_scalar(false, SN_OP_log, SN_F64, &base, SN_F64);
  sn_tensor *position = sn_iota(ctx, dtype, 1, &tokens, 0);
  if (r->offset) position = sn_binary(SN_OP_add, position, r->offset);
  sn_tensor *pair = sn_iota(ctx, dtype, 1, (int64_t[]){size / 2}, 0);
  sn_tensor *speed =
      sn_unary(SN_OP_exp, sn_binary_number(SN_OP_mul, pair, -2 * log_base / (double)size));
  return sn_binary(SN_OP_mul, sn_reshape(position, 2, (int64_t[]){tokens, 1}), speed);
}

/* A table (..., tokens, size / 2) in a shape that broadcasts to the points: one number for both coordinates. */
static sn_tensor *for_points(sn_tensor *table, sn_dtype dtype, bool interleaved) {
  table = sn_cast(table, dtype);
  if (!table) return NULL;
  const int rank = table->type.rank, at = interleaved ? rank : rank > 0 ? rank - 1 : 0;
  return sn_expand_dims(table, 1u << at);
}

sn_tensor *sn_rope(sn_tensor *x, double base, sn_tensor *offset, sn_tensor *cos, sn_tensor *sin,
                   bool interleaved) {
  if (!x) return NULL;
  const turning r = {base, offset, cos, sin, interleaved};
  const sn_status status = check_rope(x, &r);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, "rope");
  sn_tensor *f = sn_as_float(&t, x);
  if (!f) return sn_finish(&t, NULL);
  const sn_dtype dtype = f->type.dtype;
  const int last = x->type.rank - 1, pair = interleaved ? last + 1 : last;
  const int64_t size = x->type.dims[last], half = size / 2;
  sn_tensor *angle = cos ? NULL : angles(x->ctx, &r, dtype, x->type.dims[last - 1], size);
  sn_tensor *c = for_points(cos ? cos : sn_unary(SN_OP_cos, angle), dtype, interleaved);
  sn_tensor *s = for_points(sin ? sin : sn_unary(SN_OP_sin, angle), dtype, interleaved);
  sn_tensor *points = sn_split_axis(f, last, interleaved ? half : 2, interleaved ? 2 : half);
  const sn_type side = {dtype, interleaved ? 1 : 2, {2, 1}};
  sn_tensor *sides = sn_iota(x->ctx, dtype, side.rank, side.dims, 0);
  sides = sn_binary_number(SN_OP_sub, sn_binary_number(SN_OP_mul, sides, 2), 1);
  sn_tensor *rotated =
      sn_binary(SN_OP_mul, sn_flip(points, 1u << pair), sn_binary(SN_OP_mul, s, sides));
  rotated = sn_binary(SN_OP_add, sn_binary(SN_OP_mul, points, c), rotated);
  return sn_finish(&t, sn_note(sn_as_reshaped(rotated, &x->type)));
}
