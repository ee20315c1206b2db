/* apply.h - makes canonical nodes from what users write: promotes dtypes and broadcasts shapes.
 *
 * Every function returns a new reference, or NULL with the context's error set; for a NULL argument it
 * returns NULL and leaves the error as it is. Results are not noted in scopes: public functions do that
 * last (sn_hand_out). */
#ifndef SN_TENSOR_APPLY_H
#define SN_TENSOR_APPLY_H

#include "tensor/tensor.h"

/* A node whose inputs are canonical already. If it cannot take a small dtype, it is put between casts to
 * the wide dtype and back (for concat the caller has to do that). type: the proposed type for leaves,
 * views, pad and casts; else NULL. */
sn_tensor *sn_node_of(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs, const sn_type *type);

/* Fails if x and y, arguments of the function `what`, are of different contexts. */
sn_status sn_same_context(const sn_tensor *x, const sn_tensor *y, const char *what);

/* A scalar constant of this dtype. */
sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value);

/* An elementwise op of ops.def on inputs that are promoted and broadcast first. */
sn_tensor *sn_elementwise(sn_op op, sn_tensor *const *inputs, size_t n);

/* The public function of such an op. It also does pow of integers, which is a composition. */
sn_tensor *sn_apply_op(sn_op op, sn_tensor *const *inputs, size_t n);

/* x in a dtype that op takes: integers become float32 if op takes floats only, bool becomes int32 if op
 * takes numbers only, and anything becomes bool if op takes bools only. */
sn_tensor *sn_as_op_dtype(sn_op op, sn_tensor *x);

/* x cast to dtype; broadcast, or reshaped, to the dims of type. x itself, retained, if nothing changes. */
sn_tensor *sn_as_dtype(sn_tensor *x, sn_dtype dtype);
sn_tensor *sn_recast(sn_tensor *x, sn_dtype dtype); /* releases x */
sn_tensor *sn_as_dims(sn_tensor *x, const sn_type *type);
sn_tensor *sn_as_reshaped(sn_tensor *x, const sn_type *type);

/* A reduction over axes (bits; SN_ALL_AXES: all), of x in a dtype that op takes. */
sn_tensor *sn_reduce(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims);

/* Whether t is a bare number, made by sn_scalar, which takes the dtype of the tensor that it is combined with. */
bool sn_is_number(const sn_tensor *t);

/* The common dtype of two: bool < int8, uint8 < int32 < float16, bfloat16 < float32 < float64; two
 * different ones of one level have their wide dtype. */
sn_dtype sn_promote_dtypes(sn_dtype a, sn_dtype b);

/* The common dtype of two operands. A bare number takes the other's dtype if that can hold it. */
sn_dtype sn_promote(const sn_tensor *a, const sn_tensor *b);

/* The dtype of sums of products of this dtype: bool, int8 and uint8 become int32. */
sn_dtype sn_product_dtype(sn_dtype dtype);

/* *out is the common dtype of all n tensors, promoted one by one. */
sn_status sn_common_dtype(sn_tensor *const *x, size_t n, const char *what, sn_dtype *out);

/* *out is a type with the dims that the user gave; only the rank is checked. */
sn_status sn_type_of(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                     const int64_t *dims, sn_type *out);

#endif
