/* compose.h - for writing a public function as a graph of ops of ops.def and of other public functions (a
 * composition). Tensors made between begin and finish belong to the composition, and all but the result
 * are released at the end. A step that gets NULL returns NULL, so a chain of them is checked
 * once. Errors on the way name the outermost public function, whatever op they come from.
 *
 *   temporaries t = sn_begin(x, "softmax");
 *   sn_tensor *e = sn_unary(SN_OP_exp, x);
 *   return sn_finish(&t, sn_binary(SN_OP_div, e, sn_reduced(SN_OP_sum, e, axes, true))); */
#ifndef SN_TENSOR_COMPOSE_H
#define SN_TENSOR_COMPOSE_H

#include "tensor/apply.h"

typedef struct temporaries {
  sn_context *ctx; /* NULL: x was NULL */
  size_t n_noted;  /* references that the context had noted before */
  const char *outer; /* name of the composition around, or NULL */
  int n_floats;      /* arguments taken by sn_as_float */
  sn_dtype dtype;    /* their common dtype; if it is small, the result is cast to it */
} temporaries;

/* Begins a composition. what: the function's public name. If x is NULL, all results are. */
temporaries sn_begin(const sn_tensor *x, const char *what);
temporaries sn_begin_in(sn_context *ctx, const char *what);

/* Ends the composition: releases all that was made since, and hands out the result. */
sn_tensor *sn_finish(temporaries *t, sn_tensor *result);

/* The same for several results. If one is NULL, all become NULL. */
sn_status sn_finish_all(temporaries *t, sn_tensor **results, size_t n);

/* Gives a new reference to the composition, as public functions do with what they return. */
static inline sn_tensor *sn_note(sn_tensor *x) { return sn_hand_out(x); }

/* Steps, whose results belong to the composition; NULL if an input is NULL. */
sn_tensor *sn_unary(sn_op op, sn_tensor *x);
sn_tensor *sn_binary(sn_op op, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_choose(sn_tensor *condition, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_reduced(sn_op op, sn_tensor *x, uint32_t axes, bool keepdims);
sn_tensor *sn_as_float(temporaries *t, sn_tensor *x); /* an argument as float32 or float64 */
/* The same for an argument that is summed up: within a precision (sn_set_precision) the result stays wide. */
sn_tensor *sn_as_terms(temporaries *t, sn_tensor *x);
sn_tensor *sn_cast(sn_tensor *x, sn_dtype dtype);
/* A constant of the dtype of x; op of x and such a constant. */
sn_tensor *sn_number_like(const sn_tensor *x, double value);
sn_tensor *sn_binary_number(sn_op op, sn_tensor *x, double value);
/* Elements [begin, begin + size) of an axis. */
sn_tensor *sn_part(sn_tensor *x, int axis, int64_t begin, int64_t size);
/* Splits an axis into two, outer and inner; merges axes `outer` and outer + 1 into one. */
sn_tensor *sn_split_axis(sn_tensor *x, int axis, int64_t outer, int64_t inner);
sn_tensor *sn_merge_axes(sn_tensor *x, int outer);

/* The dtype in which floats are computed from values of this one: float64 stays, all else is float32. */
static inline sn_dtype sn_float_dtype(sn_dtype dtype) { return dtype == SN_F64 ? SN_F64 : SN_F32; }

/* The index along axis as int32, in the shape of type. */
sn_tensor *sn_index_along(sn_context *ctx, const sn_type *type, int axis);

/* Reports the error and returns NULL. */
sn_tensor *sn_refuse(sn_context *ctx, sn_status status);

/* x, retained; if *axis is SN_FLAT, x flattened to one axis, and *axis becomes 0. */
sn_tensor *sn_along(sn_tensor *x, int *axis);

/* Counts a negative *axis from the end; fails, naming the function `what`, unless then 0 <= *axis < rank. */
sn_status sn_resolve_axis(const sn_tensor *x, const char *what, int *axis);

/* Whether x is not NULL and has these axes (bits). If it lacks one, reports that, naming the function `what`. */
bool sn_has_axes(const sn_tensor *x, const char *what, uint32_t axes);

/* sn_resolve_axis for a type instead of a tensor. */
sn_status sn_resolve_axis_of(sn_env *env, const sn_type *type, const char *what, int *axis);

#endif
