/* op_cases.h - what tests of all ops of ops.def draw from: contexts, shapes, values, and how results
 * are compared. Everything about an op comes from its row of ops.def. */
#ifndef SN_TESTS_OP_CASES_H
#define SN_TESTS_OP_CASES_H

#include "graph/graph.h"
#include "kernels/isa.h"
#include "random.h"

/* ---- contexts and shapes --------------------------------------------------------------------- */

/* A context on a ledger (ledger.h). isa: sn_isa_detect() or less. */
sn_context *case_context(int threads, sn_isa_id isa);
sn_context *case_context_with(sn_options options, sn_isa_id isa);

/* Destroys it; everything that was allocated from it must have been given back. */
void case_context_end(sn_context *ctx);

/* Contexts of 1, 2 ... n threads that fill memory with NaN; and their end, or that of any others. */
void case_poisoned_contexts(sn_context **all, int n);
void case_contexts_end(sn_context *const *all, int n);

/* Compiles from now on without the passes whose bits are set: bit i is sn_pass_name(i). */
void case_passes_off(sn_context *ctx, uint32_t off);

/* All ranks, sizes 0 and 1, odd sizes, sizes around vectors and strips. dtype is left to the
 * caller. */
extern const sn_type case_shapes[];
extern const size_t case_shape_count;

/* A random shape of at most `most` elements and rank at most `rank`; now and then with sizes 0
 * and 1. */
sn_type case_shape(case_random *r, sn_dtype dtype, int rank, int64_t most);

/* ---- values ---------------------------------------------------------------------------------- */

typedef enum case_values {
  CASE_DOMAIN,   /* the row's domain lo .. hi */
  CASE_WHOLE,    /* whole numbers of the domain, whose sums and products are exact */
  CASE_SPECIALS, /* signed zeros, infinities, NaN, subnormals, limits, ... */
  CASE_MIXED     /* both */
} case_values;

/* Fills n elements for input `which` of op. Specials run through all pairs and triples of them as n
 * allows. */
void case_fill(case_random *r, sn_op op, int which, sn_dtype dtype, case_values values, int64_t n,
               void *out);

/* Special values a dtype has. */
size_t case_special_count(sn_dtype dtype);

/* ---- comparing ------------------------------------------------------------------------------- */

/* Same bits, any two NaNs being the same. On false *where is the first element that differs. */
bool case_same(sn_dtype dtype, const void *a, const void *b, int64_t n, int64_t *where);

/* Whether op takes this dtype for its last input. */
static inline bool case_takes(sn_op op, sn_dtype dtype) {
  return sn_op_describe(op)->types >> dtype & 1;
}

/* Whether a formula (math/expand_*.inc) stands for op, and no instruction of a machine. */
static inline bool case_is_function(sn_op op) {
  enum { LEAST_FLOPS = 8 };
  return sn_op_describe(op)->kind == SN_CLASS_MAP && sn_op_describe(op)->cost >= LEAST_FLOPS;
}

/* The public function of an elementwise op of the table; sn_elementwise where there is none. */
sn_tensor *case_apply(sn_op op, sn_tensor *const *x, size_t n);

#endif
