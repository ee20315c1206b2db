/* compose.h - writing a public function as a graph of ops of the table: every result goes through
 * T(), all are released at the end but the one that is handed out.
 *
 *   temporaries t = {0};
 *   sn_tensor *e = UNARY(exp, x);
 *   return sn_finish(&t, BINARY(div, e, REDUCE(sum, e, axes, true)));
 */
#ifndef SN_TENSOR_COMPOSE_H
#define SN_TENSOR_COMPOSE_H

#include "tensor/apply.h"

#define SN_MAX_TEMPORARIES 32
typedef struct temporaries {
  sn_tensor *list[SN_MAX_TEMPORARIES];
  int n;
} temporaries;

static inline sn_tensor *note(temporaries *t, sn_tensor *x) { return t->list[t->n++] = x; }

/* Releases them; the result belongs to the caller. */
sn_tensor *sn_finish(temporaries *t, sn_tensor *result);

#define T(x) note(&t, (x))
#define UNARY(op, x) T(sn_elementwise(SN_OP_##op, (sn_tensor *[]){x}, 1))
#define BINARY(op, x, y) T(sn_elementwise(SN_OP_##op, (sn_tensor *[]){x, y}, 2))
#define WHERE(c, x, y) T(sn_elementwise(SN_OP_where, (sn_tensor *[]){c, x, y}, 3))
#define REDUCE(op, x, axes, keep) T(sn_reduce(SN_OP_##op, x, axes, keep))
#define FLOAT(x) T(sn_as_float(x))
/* A constant of the dtype of x, which must not be NULL. */
#define NUMBER_LIKE(x, value) T(sn_number((x)->ctx, (x)->type.dtype, value))

sn_tensor *sn_number(sn_context *ctx, sn_dtype dtype, double value);

/* x as it is, or, where it is not a float, as float32. */
sn_tensor *sn_as_float(sn_tensor *x);

/* The index along axis as int32, in the shape of type. */
sn_tensor *sn_index_along(sn_context *ctx, const sn_type *type, int axis);

/* Reports the error; NULL. */
sn_tensor *sn_refuse(sn_context *ctx, sn_status status);

/* 0 <= *axis < rank afterwards. */
sn_status sn_resolve_axis(const sn_tensor *x, const char *what, int *axis);

#endif
