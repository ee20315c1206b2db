/* apply.h - building canonical nodes from what users write: dtypes promoted, shapes broadcast.
 *
 * Every function returns a new reference or NULL with the context's error set; a NULL argument
 * returns NULL and leaves the first error as it is. Results are not noted in scopes: public
 * functions do that last. */
#ifndef SN_TENSOR_APPLY_H
#define SN_TENSOR_APPLY_H

#include "tensor/tensor.h"

/* A node whose inputs are canonical already, but for small dtypes: it is put between casts (of
 * concat the caller has to do that). type: proposed for leaves, views, pad, cast; else NULL. */
sn_tensor *sn_node_of(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                      const int64_t *attrs, size_t n_attrs, const sn_type *type);

/* Whether x and y, which the function `what` is given, are of one context. */
sn_status sn_same_context(const sn_tensor *x, const sn_tensor *y, const char *what);

/* One value, of this dtype. */
sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value);

/* An elementwise op of the table on any inputs. */
sn_tensor *sn_elementwise(sn_op op, sn_tensor *const *inputs, size_t n);

/* The public function of such an op: also of integers pow, which is a composition of them. */
sn_tensor *sn_apply_op(sn_op op, sn_tensor *const *inputs, size_t n);

/* x in a dtype that op takes: integers as float32 where op is for floats only, bool as int32 where
 * it is for numbers, anything as bool where it is for bools. */
sn_tensor *sn_as_op_dtype(sn_op op, sn_tensor *x);

/* x as dtype / with the dims of type; x itself, retained, when it is so already. */
sn_tensor *sn_as_dtype(sn_tensor *x, sn_dtype dtype);
sn_tensor *sn_recast(sn_tensor *x, sn_dtype dtype); /* takes x */
sn_tensor *sn_as_dims(sn_tensor *x, const sn_type *type);
sn_tensor *sn_as_reshaped(sn_tensor *x, const sn_type *type);

/* A reduction over axes (bits; SN_ALL_AXES: all), integers and bools first made fit for op. */
sn_tensor *sn_reduce(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims);

/* Whether t is a bare number, sn_scalar's, which takes the dtype of what it meets. */
bool sn_is_number(const sn_tensor *t);

/* The dtype that two meet in: bool < int8, uint8 < int32 < float16, bfloat16 < float32 < float64;
 * two of one place meet in their wide dtype. */
sn_dtype sn_promote_dtypes(sn_dtype a, sn_dtype b);

/* That of two operands; a weak one gives way within its kind. */
sn_dtype sn_promote(const sn_tensor *a, const sn_tensor *b);

/* That of sums of products of this dtype: bool, int8 and uint8 become int32. */
sn_dtype sn_product_dtype(sn_dtype dtype);

/* That of all of them, promoted one by one. */
sn_status sn_common_dtype(sn_tensor *const *x, size_t n, const char *what, sn_dtype *out);

/* Dims as the user gave them, sizes not checked yet. */
sn_status sn_type_of(sn_context *ctx, const char *what, sn_dtype dtype, int rank,
                     const int64_t *dims, sn_type *out);

#endif
