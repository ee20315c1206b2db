/* compose.h - writing a public function as a graph of ops of the table. What a step makes is noted
 * as temporary; all are released at the end but the one that is handed out. A step that is given
 * NULL makes NULL, so a chain of them is checked once.
 *
 *   temporaries t = {0};
 *   sn_tensor *e = sn_unary(&t, SN_OP_exp, x);
 *   return sn_finish(&t, sn_binary(&t, SN_OP_div, e, sn_reduced(&t, SN_OP_sum, e, axes, true)));
 */
#ifndef SN_TENSOR_COMPOSE_H
#define SN_TENSOR_COMPOSE_H

#include "tensor/apply.h"

#define SN_MAX_TEMPORARIES 32
typedef struct temporaries {
  sn_tensor *list[SN_MAX_TEMPORARIES];
  int n;
  int n_floats;
  sn_dtype dtype; /* of the floats, if there are any: the result gets it back if it is small */
} temporaries;

sn_tensor *sn_note(temporaries *t, sn_tensor *x);

/* Notes what a public function returned, which a scope has noted as its own. */
sn_tensor *sn_own(temporaries *t, sn_tensor *x);

/* Noted results; NULL where an input is. */
sn_tensor *sn_unary(temporaries *t, sn_op op, sn_tensor *x);
sn_tensor *sn_binary(temporaries *t, sn_op op, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_choose(temporaries *t, sn_tensor *condition, sn_tensor *x, sn_tensor *y);
sn_tensor *sn_reduced(temporaries *t, sn_op op, sn_tensor *x, uint32_t axes, bool keepdims);
sn_tensor *sn_as_float(temporaries *t, sn_tensor *x); /* an argument as float32 or float64 */
/* A constant of the dtype of x. */
sn_tensor *sn_number_like(temporaries *t, const sn_tensor *x, double value);

/* Releases them; the result belongs to the caller. */
sn_tensor *sn_finish(temporaries *t, sn_tensor *result);

sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value);

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
