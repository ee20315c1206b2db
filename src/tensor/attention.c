/* attention.c - attention = softmax(scale q k^T, masked) v, as a graph of matrix products and a
 * softmax. Fusion makes a chain of it, so the matrix of all scores is never in memory. */
#include <math.h>

#include "tensor/compose.h"

static bool same_but(const sn_type *a, const sn_type *b, int axis) {
  for (int i = 0; i < a->rank - 2; i++)
    if (i != axis && a->dims[i] != b->dims[i]) return false;
  return true;
}

static bool broadcasts(const sn_type *mask, const sn_type *scores) {
  const int lead = scores->rank - mask->rank;
  for (int i = 0; i < mask->rank; i++)
    if (lead < 0 || (mask->dims[i] != 1 && mask->dims[i] != scores->dims[lead + i])) return false;
  return true;
}

/* Why q (..., heads, tokens, size), k (..., shared, sources, size), v (..., shared, sources, width) and
 * the mask (or NULL) do not fit together; NULL if they do. */
static const char *misfit(const sn_type *q, const sn_type *k, const sn_type *v,
                          const sn_type *mask) {
  const int rank = q->rank, heads = rank - 3;
  if (rank < 2 || rank >= SN_MAX_RANK || k->rank != rank || v->rank != rank)
    return "needs (..., heads, tokens, size)";
  if (q->dims[rank - 1] != k->dims[rank - 1]) return "q and k differ in size";
  if (k->dims[rank - 2] != v->dims[rank - 2]) return "k and v differ in tokens";
  if (!k->dims[rank - 2]) return "k has no tokens";
  if (!same_but(q, k, heads) || !same_but(k, v, -1)) return "batch dimensions differ";
  if (heads >= 0 && q->dims[heads] != k->dims[heads] &&
      (!k->dims[heads] || q->dims[heads] % k->dims[heads]))
    return "heads of k do not divide those of q";
  sn_type scores = *q;
  scores.dims[rank - 1] = k->dims[rank - 2];
  return mask && !broadcasts(mask, &scores) ? "the mask does not fit the scores" : NULL;
}

static sn_status check_attention(const sn_tensor *q, const sn_tensor *k, const sn_tensor *v,
                                 const sn_tensor *mask) {
  sn_env *env = &q->ctx->env;
  SN_TRY(sn_same_context(q, k, "attention"));
  SN_TRY(sn_same_context(q, v, "attention"));
  if (mask) SN_TRY(sn_same_context(q, mask, "attention"));
  const char *why = misfit(&q->type, &k->type, &v->type, mask ? &mask->type : NULL);
  SN_FAIL_IF(env, why && !mask, SN_ERR_SHAPE, "attention", "%s: q %*p, k %*p, v %*p", why,
             q->type.rank, q->type.dims, k->type.rank, k->type.dims, v->type.rank, v->type.dims);
  SN_FAIL_IF(env, why, SN_ERR_SHAPE, "attention", "%s: q %*p, k %*p, v %*p, mask %*p", why,
             q->type.rank, q->type.dims, k->type.rank, k->type.dims, v->type.rank, v->type.dims,
             mask->type.rank, mask->type.dims);
  return SN_OK;
}

/* The mask broadcast to the shape of all scores. scores: that shape before heads are split; split: after. */
static sn_tensor *spread_mask(sn_tensor *mask, const sn_type *scores, const sn_type *split) {
  sn_type full = *scores;
  full.dtype = mask->type.dtype;
  sn_tensor *spread = sn_broadcast_to(mask, full.rank, full.dims);
  if (!spread || split->rank == full.rank) return spread;
  full = *split;
  full.dtype = mask->type.dtype;
  return sn_note(sn_as_reshaped(spread, &full));
}

static sn_tensor *flip(sn_tensor *x) {
  int perm[SN_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < x->type.rank; i++) perm[i] = i;
  perm[x->type.rank - 1]--;
  perm[x->type.rank - 2]++;
  return sn_transpose(x, perm);
}

/* s where the mask, and if causal the token's number, allow it, else -infinity; a mask of floats is added. */
static sn_tensor *apply_masks(sn_tensor *s, const sn_type *scores, sn_tensor *mask, bool causal) {
  if (!s) return NULL;
  sn_context *ctx = s->ctx;
  const sn_type type = s->type;
  sn_tensor *never = sn_number_like(s, -INFINITY);
  if (mask) {
    sn_tensor *m = spread_mask(mask, scores, &type);
    if (!m) return NULL;
    s = m->type.dtype == SN_BOOL ? sn_choose(m, s, never) : sn_binary(SN_OP_add, s, m);
  }
  if (!causal) return s;
  sn_tensor *row = sn_note(sn_index_along(ctx, &type, type.rank - 2));
  sn_tensor *column = sn_note(sn_index_along(ctx, &type, type.rank - 1));
  sn_tensor *seen = sn_binary(SN_OP_less_equal, column, row);
  return sn_choose(seen, s, never);
}

/* The causal mask if `past` sources come before the first token, combined with a given mask. */
static sn_tensor *join_past(const sn_type *scores, sn_tensor *past, sn_tensor *mask) {
  const sn_type matrix = {
      SN_I32, 2, {scores->dims[scores->rank - 2], scores->dims[scores->rank - 1]}};
  sn_tensor *last = sn_note(sn_index_along(past->ctx, &matrix, 0));
  last = sn_binary(SN_OP_add, last, past);
  sn_tensor *column = sn_note(sn_index_along(past->ctx, &matrix, 1));
  sn_tensor *seen = sn_binary(SN_OP_less_equal, column, last);
  if (!mask) return seen;
  if (mask->type.dtype == SN_BOOL) return sn_binary(SN_OP_logical_and, seen, mask);
  return sn_choose(seen, mask, sn_number_like(mask, -INFINITY));
}

/* Splits the axis of heads into (shared, heads / shared): heads that share keys are then neighbours. */
static sn_tensor *split_heads(sn_tensor *x, int64_t shared) {
  const int heads = x->type.rank - 3;
  return sn_split_axis(x, heads, shared, shared ? x->type.dims[heads] / shared : 0);
}

sn_tensor *sn_attention(sn_tensor *q, sn_tensor *k, sn_tensor *v, bool causal, sn_tensor *past,
                        sn_tensor *mask, double scale) {
  if (!q || !k || !v) return NULL;
  sn_context *ctx = q->ctx;
  if (past && sn_is_number(past) && sn_attr_double(past->attrs[0]) == 0) past = NULL;
  sn_status status = check_attention(q, k, v, mask);
  if (!status && past) status = sn_same_context(q, past, "attention");
  if (!status && past && !causal)
    status = SN_FAIL(&ctx->env, SN_ERR_ARGUMENT, "attention",
                     "past counts for causal attention only, and causal is false");
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(q, "attention");
  const int rank = q->type.rank;
  sn_type scores = q->type, out = q->type;
  scores.dims[rank - 1] = k->type.dims[rank - 2];
  out.dims[rank - 1] = v->type.dims[rank - 1];
  if (past) {
    mask = join_past(&scores, past, mask);
    status = mask ? check_attention(q, k, v, mask) : SN_OK;
    if (!mask || status) return sn_finish(&t, sn_refuse(ctx, status));
    causal = false;
  }
  q = sn_as_float(&t, q);
  k = sn_as_float(&t, k);
  v = sn_as_float(&t, v);
  if (!q || !k || !v) return sn_finish(&t, NULL);
  if (isnan(scale)) scale = 1 / sqrt((double)q->type.dims[rank - 1]);
  const bool grouped = rank > 2 && q->type.dims[rank - 3] != k->type.dims[rank - 3];
  if (grouped) {
    const int64_t shared = k->type.dims[rank - 3];
    q = split_heads(q, shared);
    k = split_heads(k, shared);
    v = split_heads(v, shared);
  }
  sn_tensor *s = k ? sn_matmul(q, flip(k)) : NULL;
  if (s) s = sn_cast(s, q->type.dtype); /* within a precision s has 16 bits; what follows is computed wide */
  s = apply_masks(sn_binary_number(SN_OP_mul, s, scale), &scores, mask, causal);
  sn_tensor *y = sn_matmul(sn_softmax(s, -1), v);
  return sn_finish(&t, grouped ? sn_note(sn_as_reshaped(y, &out)) : y);
}
