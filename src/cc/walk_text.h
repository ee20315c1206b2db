/* walk_text.h - a body over a range of points as C on vectors (kernel_words.h): what every function of a kernel is made of.
 *
 *   values that are the same at all points
 *   for each run of points at which the operands lie in order
 *     pointers; what is the same along the run; what lies apart, copied together
 *     for each LANES points: loads, ops, then what becomes of them
 *
 * A range is n points of a nest from `flat` on, row-major. It is one run if all operands are contiguous over the nest;
 * else a run ends where the innermost dim does or, if that is short, with a strip, for which operands are copied
 * together. The points that are left at the end of a run go round the same loop, by way of spare memory. All loads of
 * a vector come before its stores, those that are copied before all stores of their strip: as vm.h promises. */
#ifndef SN_CC_WALK_TEXT_H
#define SN_CC_WALK_TEXT_H

#include "base/text.h"
#include "kernels/kernel.h"

/* The dims that the text walks, by their number among those that operands have strides for; and dims around them,
 * whose indices are the variables o0, o1 ... */
typedef struct sn_cc_nest {
  int outer_rank, rank;
  int outer_pick[SN_MAX_RANK], pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
} sn_cc_nest;

typedef enum sn_cc_sink_kind {
  SN_CC_STORE,  /* to an operand */
  SN_CC_KEEP,   /* to the row that is kept in slot `number` */
  SN_CC_STRIP,  /* to the array x<number>, from its beginning on */
  SN_CC_COMBINE /* with the accumulators at `acc`; where `begins` is set in their place */
} sn_cc_sink_kind;

/* What becomes of a value. */
typedef struct sn_cc_sink {
  sn_cc_sink_kind kind;
  uint32_t insn, number;
  const sn_operand *target; /* of a store */
  sn_op op;                 /* that combines */
} sn_cc_sink;

struct sn_cc_place;

typedef struct sn_cc_walk {
  sn_text *t;
  const sn_body *body;
  sn_cc_nest nest;
  /* Of a total: a C expression for where its values are, if they are one for all points, or begin there. */
  const char *const *totals;
  bool one_total;
  const char *const *kept; /* per slot where the row of it begins */
  const sn_cc_sink *sinks;
  uint32_t n_sinks;
  int64_t points; /* of all calls together, or 0 where nothing large is stored */
  bool streams;   /* whether what is stored may go past the caches, where none would hold it */
  /* made by sn_cc_walk_begin */
  uint8_t *needed, *level;
  struct sn_cc_place *loads, *stores; /* per insn that loads, per sink */
  bool runs, copies;
  bool wide; /* while the loop over WIDE vectors at a time is added */
} sn_cc_walk;

/* Describes the walk, and adds the values that are the same at all points. *able: whether all of its ops have C. */
sn_status sn_cc_walk_begin(sn_cc_walk *walk, bool *able);

/* Adds the loop over points [flat, flat + n), which are variables. */
sn_status sn_cc_walk_points(sn_cc_walk *walk);

/* Where points lie from `flat` on as a C expression, if all that becomes of a body is that its one load, which lies in
 * order, goes into a strip: then no loop is needed. NULL: it is more. Of a walk that has begun. */
sn_status sn_cc_walk_place(const sn_cc_walk *walk, const char **out);

const char *sn_cc_short_name(sn_dtype dtype);

/* Of what strips have: "f32", "f64", "i32" or "mask", which is also how it is loaded. */
const char *sn_cc_strip_name(sn_dtype dtype);
const char *sn_cc_strip_type(sn_dtype dtype);

#endif
