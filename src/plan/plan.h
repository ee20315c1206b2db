/* plan.h - the memory plan: where every value of a program lies. Intermediates share one arena; an
 * output has fresh memory or that of a donated argument.
 *
 *   bytes
 *    ^  +--v3--+   +-----v7------+
 *    |  +------+   |             |
 *    |  +----v4----+---v5---+----+
 *    +-----------------------------> groups in order
 *
 * A value's live range goes from the group that first writes it to the last that reads it. Values with
 * overlapping live ranges never share bytes, with one exception (in place): a result may take over the
 * memory of a value that the same group reads last, if each element is read before it is overwritten. */
#ifndef SN_PLAN_PLAN_H
#define SN_PLAN_PLAN_H

#include "fuse/group.h"

typedef enum sn_place_kind {
  SN_PLACE_NONE,     /* no group touches the value */
  SN_PLACE_ARGUMENT, /* the caller's buffer of argument `index` */
  SN_PLACE_DONATED,  /* an output in the buffer of argument `index` */
  SN_PLACE_OUTPUT,   /* fresh buffer number `index` */
  SN_PLACE_ARENA     /* at `offset` */
} sn_place_kind;

typedef struct sn_place {
  sn_place_kind kind;
  uint32_t index;
  size_t offset, bytes;
  uint32_t first, last; /* the live range: first and last group; SN_NONE: it is not touched */
} sn_place;

typedef struct sn_plan {
  sn_place *places; /* per value */
  size_t n_values;
  uint32_t n_fresh; /* output buffers to allocate */
  size_t arena_bytes;
  uint64_t naive_bytes; /* for comparison: of all computed values that are not returned */
} sn_plan;

/* Plans the memory of a program. donate: per argument, whether outputs may take its memory; NULL: none. */
sn_status sn_plan_memory(sn_arena *arena, const sn_groups *groups, const bool *donate,
                         size_t n_arguments, sn_plan *out);

/* Plans a loop's body, in which result k < n_carries is argument k of the next round. Such a result may take
 * the memory of that argument, but of no other. */
sn_status sn_plan_body(sn_arena *arena, const sn_groups *groups, size_t n_arguments,
                       size_t n_carries, sn_plan *out);

/* Whether v is written in place: another value still lives in its memory when the group that first writes
 * v runs. */
bool sn_plan_takes_over(const sn_plan *plan, uint32_t v);

/* Whether no two values with overlapping live ranges share bytes, except in place. Quadratic: for test
 * builds. */
bool sn_plan_is_sound(const sn_groups *groups, const sn_plan *plan);

sn_status sn_plan_text(const sn_groups *groups, const sn_plan *plan, sn_arena *arena,
                       const char **out);

#endif
