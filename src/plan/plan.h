/* plan.h - where every buffer of a program lies: one arena for all intermediates, outputs in fresh
 * memory or in that of a donated argument.
 *
 *   bytes
 *    ^  +--v3--+   +-----v7------+
 *    |  +------+   |             |
 *    |  +----v4----+---v5---+----+
 *    +-----------------------------> groups in order
 *
 * A value lives from the group that writes it to the last that reads it; values whose lives overlap
 * never share bytes, except that an output may take over the memory of an input that dies in the
 * same group and is read at the same places (in place). */
#ifndef SN_PLAN_PLAN_H
#define SN_PLAN_PLAN_H

#include "fuse/group.h"

typedef enum sn_place_kind {
  SN_PLACE_NONE,     /* never touched */
  SN_PLACE_ARGUMENT, /* the caller's buffer of argument `index` */
  SN_PLACE_DONATED,  /* an output in the buffer of argument `index` */
  SN_PLACE_OUTPUT,   /* fresh buffer number `index` */
  SN_PLACE_ARENA     /* at `offset` */
} sn_place_kind;

typedef struct sn_place {
  sn_place_kind kind;
  uint32_t index;
  size_t offset, bytes;
  uint32_t first, last; /* groups between which the value lives */
} sn_place;

typedef struct sn_plan {
  sn_place *places; /* per value */
  size_t n_values;
  uint32_t n_fresh; /* output buffers to allocate */
  size_t arena_bytes;
  uint64_t naive_bytes; /* every computed value that is not returned in a buffer of its own */
} sn_plan;

/* donate: per argument, whether outputs may take its memory (NULL: none). */
sn_status sn_plan_memory(sn_arena *arena, const sn_groups *groups, const bool *donate,
                         size_t n_arguments, sn_plan *out);

/* The same of a loop's body, whose result k is argument k in the next round, for k < n_carries: it may
 * take the memory of that argument, and of no other. */
sn_status sn_plan_body(sn_arena *arena, const sn_groups *groups, size_t n_arguments,
                       size_t n_carries, sn_plan *out);

/* Whether the group that first writes v also reads what lay in its memory before: in place. */
bool sn_plan_takes_over(const sn_plan *plan, uint32_t v);

/* Whether no two values that live at the same time share bytes, in-place pairs excepted. For tests
 * and debug builds: quadratic. */
bool sn_plan_is_sound(const sn_groups *groups, const sn_plan *plan);

sn_status sn_plan_text(const sn_groups *groups, const sn_plan *plan, sn_arena *arena,
                       const char **out);

#endif
