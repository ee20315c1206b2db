/* quantize.c - quantises numbers to 8 or 4 bits with a scale for each block of them:
 * |x - scale value| <= scale / 2. A block is a piece of one axis. */
#include "tensor/compose.h"

static sn_status check_layout(const char *what, const sn_tensor *x, int *axis, int64_t bits) {
  SN_FAIL_IF(&x->ctx->env, bits != 8 && bits != 4, SN_ERR_ARGUMENT, what,
             "no %lld bits, expected 8 or 4", (long long)bits);
  return sn_resolve_axis(x, what, axis);
}

/* Splits the axis into blocks of `size` elements, which become a new axis behind it. */
static sn_tensor *in_blocks(const char *what, sn_tensor *x, int axis, int64_t size) {
  if (!x) return NULL;
  const int64_t n = x->type.dims[axis];
  if (size < 1 || n % size)
    return sn_refuse(x->ctx, SN_FAIL(&x->ctx->env, SN_ERR_SHAPE, what,
                                     "blocks of %lld do not divide axis %d: a %*p", (long long)size,
                                     axis, x->type.rank, x->type.dims));
  return sn_split_axis(x, axis, n / size, size);
}

sn_status sn_quantize(sn_tensor *x, int axis, int64_t block_size, int64_t bits, sn_tensor **values,
                      sn_tensor **scales) {
  static const char what[] = "quantize";
  *values = *scales = NULL;
  if (!x) return SN_ERR_ARGUMENT;
  const sn_status status = check_layout(what, x, &axis, bits);
  if (status) return sn_context_report(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const int64_t n = x->type.dims[axis], size = block_size != SN_DEFAULT ? block_size : n ? n : 1;
  sn_tensor *blocks = in_blocks(what, sn_cast(x, sn_float_dtype(x->type.dtype)), axis, size);
  sn_tensor *largest = sn_reduced(SN_OP_max, sn_unary(SN_OP_abs, blocks), 1u << (axis + 1), true);
  sn_tensor *scale = sn_binary_number(SN_OP_div, largest, bits == 8 ? 127 : 7);
  sn_tensor *divisor =
      sn_choose(sn_binary_number(SN_OP_equal, scale, 0), sn_number_like(scale, 1), scale);
  sn_tensor *steps = sn_unary(SN_OP_round, sn_binary(SN_OP_div, blocks, divisor));
  sn_tensor *whole = sn_cast(sn_merge_axes(steps, axis), SN_I8);
  sn_tensor *results[] = {bits == 8 ? whole : sn_pack_int4(whole, axis),
                          sn_merge_axes(scale, axis)};
  const sn_status made = sn_finish_all(&t, results, 2);
  *values = results[0];
  *scales = results[1];
  return made;
}

/* Whether s has a scale for each block of v. */
static bool scales_fit(const sn_type *v, const sn_type *s, int axis) {
  bool fits = v->rank == s->rank;
  for (int i = 0; fits && i < v->rank; i++) {
    const int64_t n = v->dims[i], m = s->dims[i];
    fits = i == axis ? n == 0 || (m && n % m == 0) : n == m;
  }
  return fits;
}

sn_tensor *sn_dequantize(sn_tensor *values, sn_tensor *scales, int axis, int64_t bits) {
  static const char what[] = "dequantize";
  if (!values || !scales) return NULL;
  sn_context *ctx = values->ctx;
  sn_status status = sn_same_context(values, scales, what);
  if (!status) status = check_layout(what, values, &axis, bits);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(values, what);
  sn_tensor *v = bits == 8 ? values : sn_unpack_int4(values, axis);
  if (!v) return sn_finish(&t, NULL);
  if (!scales_fit(&v->type, &scales->type, axis)) {
    status =
        SN_FAIL(&ctx->env, SN_ERR_SHAPE, what, "not a scale for each block: values %*p, scales %*p",
                v->type.rank, v->type.dims, scales->type.rank, scales->type.dims);
    return sn_finish(&t, sn_refuse(ctx, status));
  }
  const int64_t n = v->type.dims[axis], count = scales->type.dims[axis];
  sn_tensor *blocks = sn_split_axis(v, axis, count, count ? n / count : 1);
  sn_tensor *x = sn_binary(SN_OP_mul, sn_cast(blocks, scales->type.dtype),
                           sn_split_axis(scales, axis, count, 1));
  return sn_finish(&t, sn_merge_axes(x, axis));
}

sn_tensor *sn_pack_int4(sn_tensor *x, int axis) {
  static const char what[] = "packInt4";
  if (!x) return NULL;
  sn_context *ctx = x->ctx;
  if (sn_dtype_wide(x->type.dtype) != SN_I32)
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_DTYPE, what, "needs integers, not %s",
                                  sn_dtype_name(x->type.dtype)));
  const sn_status status = sn_resolve_axis(x, what, &axis);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(x, what);
  sn_tensor *pairs =
      sn_binary_number(SN_OP_bitwise_and, in_blocks(what, sn_cast(x, SN_I32), axis, 2), 15);
  sn_tensor *low = sn_part(pairs, axis + 1, 0, 1), *high = sn_part(pairs, axis + 1, 1, 1);
  sn_tensor *both = sn_binary(SN_OP_bitwise_or, low, sn_binary_number(SN_OP_shift_left, high, 4));
  return sn_finish(&t, sn_cast(sn_merge_axes(both, axis), SN_U8));
}

sn_tensor *sn_unpack_int4(sn_tensor *x, int axis) {
  static const char what[] = "unpackInt4";
  if (!x) return NULL;
  sn_context *ctx = x->ctx;
  if (x->type.dtype != SN_U8)
    return sn_refuse(ctx, SN_FAIL(&ctx->env, SN_ERR_DTYPE, what, "needs uint8, not %s",
                                  sn_dtype_name(x->type.dtype)));
  const sn_status status = sn_resolve_axis(x, what, &axis);
  if (status) return sn_refuse(ctx, status);
  temporaries t = sn_begin(x, what);
  sn_tensor *wide = sn_cast(x, SN_I32);
  sn_tensor *halves[] = {sn_binary_number(SN_OP_bitwise_and, wide, 15),
                         sn_binary_number(SN_OP_shift_right_logical, wide, 4)};
  sn_tensor *pairs = sn_stack(halves, 2, axis + 1);
  sn_tensor *whole = sn_binary_number(SN_OP_sub, sn_binary_number(SN_OP_bitwise_xor, pairs, 8), 8);
  return sn_finish(&t, sn_cast(sn_merge_axes(whole, axis), SN_I8));
}

/* ---- blocks of files --------------------------------------------------------------------------- */

sn_tensor *sn_dequantize_blocks(sn_tensor *bytes, sn_block_kind kind) {
  if (!bytes) return NULL;
  temporaries t = sn_begin(bytes, "dequantizeBlocks");
  const int64_t attr = kind;
  return sn_finish(
      &t, sn_note(sn_node_of(bytes->ctx, SN_OP_dequantize_blocks, &bytes, 1, &attr, 1, NULL)));
}

static sn_tensor *product_of_blocks(const char *what, sn_op op, sn_tensor *x, sn_tensor *bytes,
                                    sn_block_kind kind) {
  if (!x || !bytes) return NULL;
  const sn_status status = sn_same_context(x, bytes, what);
  if (status) return sn_refuse(x->ctx, status);
  temporaries t = sn_begin(x, what);
  const int64_t attr = kind;
  sn_tensor *in[] = {sn_cast(x, SN_F32), bytes};
  return sn_finish(
      &t, in[0] ? sn_note(sn_node_of(x->ctx, op, in, 2, &attr, 1, NULL)) : NULL);
}

sn_tensor *sn_matmul_blocks(sn_tensor *x, sn_tensor *bytes, sn_block_kind kind) {
  return product_of_blocks("matmulBlocks", SN_OP_matmul_blocks, x, bytes, kind);
}

sn_tensor *sn_matmul_dequantized(sn_tensor *x, sn_tensor *bytes, sn_block_kind kind) {
  return product_of_blocks("matmulDequantized", SN_OP_matmul_dequantized, x, bytes, kind);
}
