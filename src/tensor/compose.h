/* compose.h - writing a public function as a graph of ops of the table and of other public functions.
 * What is made between begin and finish belongs to the composition; all is released at the end but
 * the one that is handed out. A step that is given NULL makes NULL, so a chain of them is checked
 * once. Errors on the way name the public function that began first, whatever op they come from.
 *
 *   temporaries t = sn_begin(x, "softmax");
 *   sn_tensor *e = sn_unary(SN_OP_exp, x);
 *   return sn_finish(&t, sn_binary(SN_OP_div, e, sn_reduced(SN_OP_sum, e, axes, true))); */
#ifndef SN_TENSOR_COMPOSE_H
#define SN_TENSOR_COMPOSE_H

#include "tensor/apply.h"

typedef struct temporaries {
  sn_context *ctx; /* NULL: of nothing */
  size_t n_noted;  /* references that the context had noted before */
  const char *outer;
  int n_floats;
  sn_dtype dtype; /* of the floats, if there are any: the result gets it back if it is small */
} temporaries;

/* what: the function's public name. x may be NULL; then so are the results. */
temporaries sn_begin(const sn_tensor *x, const char *what);
temporaries sn_begin_in(sn_context *ctx, const char *what);

/* Releases what was made since; the result belongs to the caller. */
sn_tensor *sn_finish(temporaries *t, sn_tensor *result);

/* The same of several results: all of them, or where one is missing none. */
sn_status sn_finish_all(temporaries *t, sn_tensor **results, size_t n);

/* A new reference becomes the composition's, as those do that public functions return. */
static inline sn_tensor *sn_note(sn_tensor *x) { return sn_hand_out(x); }

/* Noted results; NULL where an input is. */
sn_tensor *sn_unary(sn_op op, sn_tensor *x);
sn_tensor *sn_binary(sn_op op, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_choose(sn_tensor *condition, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_reduced(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims);
sn_tensor *sn_as_float(temporaries *t, sn_tensor *x); /* an argument as float32 or float64 */
/* The same of what is summed up: within a precision (sn_set_precision) sums stay as wide. */
sn_tensor *sn_as_terms(temporaries *t, sn_tensor *x);
sn_tensor *sn_cast(sn_tensor *x, sn_dtype dtype);
/* A constant of the dtype of x; op of x and such a constant. */
sn_tensor *sn_number_like(const sn_tensor *x, double value);
sn_tensor *sn_with(sn_op op, sn_tensor *x, double value);
/* size elements of an axis from begin on. */
sn_tensor *sn_part(sn_tensor *x, int axis, int64_t begin, int64_t size);
/* The axis as two, outer and inner; these two as one again. */
sn_tensor *sn_split_axis(sn_tensor *x, int axis, int64_t outer, int64_t inner);
sn_tensor *sn_merge_axes(sn_tensor *x, int outer);

/* The dtype of what is computed from such values in floats: float64 stays, all else is float32. */
static inline sn_dtype sn_float_dtype(sn_dtype dtype) { return dtype == SN_F64 ? SN_F64 : SN_F32; }

/* The index along axis as int32, in the shape of type. */
sn_tensor *sn_index_along(sn_context *ctx, const sn_type *type, int axis);

/* Reports the error; NULL. */
sn_tensor *sn_refuse(sn_context *ctx, sn_status status);

/* x, or where *axis is SN_FLAT its elements along one axis, which *axis is then. */
sn_tensor *sn_along(sn_tensor *x, int *axis);

/* 0 <= *axis < rank afterwards; what: the function that was given it. */
sn_status sn_resolve_axis(const sn_tensor *x, const char *what, int *axis);

/* Whether x is there and has these axes; else reports it of the function `what`. */
bool sn_has_axes(const sn_tensor *x, const char *what, uint32_t axes);

/* The same of an axis of any rank, whose shape is type's. */
sn_status sn_resolve_axis_of(sn_env *env, const sn_type *type, const char *what, int *axis);

#endif
