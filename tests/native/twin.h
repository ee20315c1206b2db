/* twin.h - one computation written twice: as tensors, which the compiler runs, and as a graph that
 * the reference interpreter evaluates node by node while it is written. Nothing is shared between
 * the two but the op table and the data of the inputs.
 *
 *   twins w;  twins_begin(&w, ctx, true);
 *   twin x = twin_input(&w, &type, data), y = twin_apply(&w, SN_OP_tanh, &x, 1);
 *   twins_output(&w, y);
 *   if (!twins_agree(&w, text)) fail_msg("%s", text);
 *   twins_end(&w);
 *
 * The functions broadcast and check like the public ones that they call; a call that these refuse fails
 * the test. */
#ifndef SN_TESTS_TWIN_H
#define SN_TESTS_TWIN_H

#include "ledger.h"
#include "op_cases.h"

#define TWIN_MAX_OUTPUTS 8
#define TWIN_MAX_INPUTS 64
#define TWIN_TEXT 2048

typedef struct twin {
  sn_tensor *t;
  sn_id id;
} twin;

typedef struct twins {
  sn_context *ctx;
  ledger ledger;
  sn_env env;
  sn_arena arena;
  bool fused;     /* the functions' bits */
  sn_graph graph; /* of the reference, nothing shared */
  void **values;  /* per node: its elements */
  size_t n_values;
  bool compiled; /* inputs are placeholders of one program; else values, evaluated lazily */
  sn_tensor *placeholders[TWIN_MAX_INPUTS];
  sn_id inputs[TWIN_MAX_INPUTS];
  size_t n_inputs;
  bool donate[TWIN_MAX_INPUTS]; /* to be set by the caller */
  size_t budget_percent; /* of the arena that it takes else, where that is enough; 0: all of it */
  size_t budgets_met;
  bool hold[TWIN_MAX_INPUTS]; /* the caller keeps a second tensor on a donated argument's memory */
  twin outputs[TWIN_MAX_OUTPUTS];
  sn_tensor *results[TWIN_MAX_OUTPUTS]; /* after twins_run */
  size_t n_outputs;
  sn_op planted, planted_as; /* a fault: the tensors get planted_as for planted; equal: none */
} twins;

void twins_begin(twins *w, sn_context *ctx, bool compiled);
void twins_end(twins *w);

/* ---- writing --------------------------------------------------------------------------------- */

twin twin_input(twins *w, const sn_type *type, const void *data);
twin twin_full(twins *w, const sn_type *type, double value);
twin twin_scalar(twins *w, sn_dtype dtype, double value); /* sn_scalar, to meet a tensor of dtype */
twin twin_iota(twins *w, const sn_type *type, int axis);
twin twin_apply(twins *w, sn_op op, const twin *x, size_t n); /* elementwise, broadcasting */
twin twin_astype(twins *w, twin x, sn_dtype dtype);
twin twin_bitcast(twins *w, twin x, sn_dtype dtype);
twin twin_reshape(twins *w, twin x, const sn_type *type);
twin twin_transpose(twins *w, twin x, const int *perm);
twin twin_broadcast(twins *w, twin x, const sn_type *type);
twin twin_slice(twins *w, twin x, const int64_t *begin, const int64_t *size, const int64_t *stride);
twin twin_flip(twins *w, twin x); /* all axes reversed */
/* step: places between elements, 1 for none; more than that only derivatives of slices make */
twin twin_pad(twins *w, twin x, const int64_t *before, const int64_t *after, const int64_t *step,
              double value);
twin twin_concat(twins *w, const twin *x, size_t n, int axis);
twin twin_reduce(twins *w, sn_op op, twin x, uint32_t axes);
/* gather, scatter, sort, scan with their attributes; inputs as the op wants them */
twin twin_along(twins *w, sn_op op, const twin *x, const int64_t *attrs);
twin twin_matmul(twins *w, twin a,
                 twin b); /* equal ranks of at least 2; batch dimensions broadcast */

/* Any op whose type is proposed, such as windows and conv. */
twin twin_proposed(twins *w, sn_op op, const twin *x, const int64_t *attrs, size_t n_attrs,
                   const sn_type *type);

/* ---- views ----------------------------------------------------------------------------------- */

typedef enum twin_view {
  TWIN_PLAIN,
  TWIN_TRANSPOSED,
  TWIN_FLIPPED,  /* negative strides */
  TWIN_STEPPED,  /* every second element of a larger one */
  TWIN_REPEATED, /* alternate dimensions broadcast */
  TWIN_LOWER,    /* leading dimension broadcast */
  TWIN_RESHAPED,
  TWIN_CHAIN,   /* reshape, transpose, flip */
  TWIN_COPYING, /* a reshape of a transpose, which no strides can say */
  TWIN_VIEWS
} twin_view;

/* A new input, filled for input `which` of op, and on it a view that has the given type. */
twin twin_viewed_input(twins *w, case_random *r, twin_view view, sn_op op, int which,
                       case_values values, const sn_type *type);

/* ---- comparing ------------------------------------------------------------------------------- */

const sn_type *twin_type(const twins *w, twin x);
const void *twin_value(const twins *w, twin x); /* of the reference */

void twins_output(twins *w, twin x);

/* Compiles if asked for, and runs. results are owned by w and replaced by the next run. False with
 * the reason in text on any error, also when a donated value that others hold has changed. */
bool twins_run(twins *w, char text[TWIN_TEXT]);

/* Runs; whether every output has the bits of the reference. If not, text says where. */
bool twins_agree(twins *w, char text[TWIN_TEXT]);

#endif
