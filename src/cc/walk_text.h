/* walk_text.h - prints a body over a range of points as C on vectors (kernel_words.h). Every function of a kernel consists of
 * such walks:
 *
 *   values that are the same at all points
 *   for each run of points at which the operands are contiguous
 *     pointers; values that are the same along the run; copies of operands that are not contiguous
 *     for each LANES points: loads, ops, then sinks
 *
 * A range is n points of a nest from `flat` on, row-major. It is one run if all operands are contiguous over the nest.
 * Else a run ends with the innermost dim or, if that is short, with a strip, for which operands are copied together. The
 * points left at the end of a run, fewer than a vector, go through the same loop once more, by way of spare memory. All
 * loads of a vector come before its stores, and copies before all stores of their strip, as vm.h promises. */
#ifndef SN_CC_WALK_TEXT_H
#define SN_CC_WALK_TEXT_H

#include "base/text.h"
#include "kernels/kernel.h"

/* The dims that the text loops over, and outer dims around it, whose indices are the variables o0, o1 ... pick: dim ->
 * number of the operands' stride. */
typedef struct sn_cc_nest {
  int outer_rank, rank;
  int outer_pick[SN_MAX_RANK], pick[SN_MAX_RANK];
  int64_t dims[SN_MAX_RANK];
} sn_cc_nest;

typedef enum sn_cc_sink_kind {
  SN_CC_STORE,  /* to an operand */
  SN_CC_KEEP,   /* to the row that is kept in slot `number` */
  SN_CC_STRIP,  /* to the array x<number>, from its beginning on */
  SN_CC_COMBINE /* into the accumulators at `acc`: combined with them, or if the variable `begins` is set, replacing them */
} sn_cc_sink_kind;

/* Where a value of the body goes. */
typedef struct sn_cc_sink {
  sn_cc_sink_kind kind;
  uint32_t insn, number;
  const sn_operand *target; /* SN_CC_STORE */
  sn_op op;                 /* SN_CC_COMBINE */
} sn_cc_sink;

struct sn_cc_place;

typedef struct sn_cc_walk {
  sn_text *t;
  const sn_body *body;
  sn_cc_nest nest;
  /* Per total a C expression for the address of its value (one_total), or of the value at the first point. */
  const char *const *totals;
  bool one_total;          /* a total has one value for all points */
  const char *const *kept; /* per slot a C expression for the begin of its row */
  const sn_cc_sink *sinks;
  uint32_t n_sinks;
  int64_t points; /* points of all calls of a run together; 0 if nothing large is stored */
  bool streams;   /* stores too large for the caches may bypass them */
  /* made by sn_cc_walk_begin */
  uint8_t *needed, *level;
  struct sn_cc_place *loads, *stores; /* per insn (used by loads only); per sink */
  bool runs, copies; /* a run is a part of the innermost dim; some operands are copied */
  bool wide;         /* the loop over WIDE vectors at a time is being added */
} sn_cc_walk;

/* Describes the walk, and adds the values that are the same at all points. *able: whether C exists for all of its ops. */
sn_status sn_cc_walk_begin(sn_cc_walk *walk, bool *able);

/* Adds the loop over points [flat, flat + n); both are variables of the text. */
sn_status sn_cc_walk_points(sn_cc_walk *walk);

/* For a walk that has begun and only copies one contiguous load to a strip: *out is a C expression for the address of the
 * point `flat`, which can be read in the strip's place, without a loop. NULL for any other walk. */
sn_status sn_cc_walk_place(const sn_cc_walk *walk, const char **out);

const char *sn_cc_short_name(sn_dtype dtype);

/* The format of a dtype in strips, "f32", "f64", "i32" or "mask", which is the suffix of the words that access it. */
const char *sn_cc_strip_name(sn_dtype dtype);
const char *sn_cc_strip_type(sn_dtype dtype);

#endif
