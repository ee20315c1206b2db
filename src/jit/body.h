/* body.h - a group's bodies described on a walk, and the state of lowering a kernel. */
#ifndef SN_JIT_BODY_H
#define SN_JIT_BODY_H

#include "jit/lower.h"
#include "jit/walk.h"

/* One role of one kernel under way. */
typedef struct sn_jit {
  sn_arena *arena;
  sn_wasm *w;
  const sn_jit_target *target;
  const sn_kernel *kernel;
  sn_walk walk;
  int pick[SN_MAX_RANK]; /* dim of the nest -> dim of the operands' strides */
  sn_lane_value *heads;  /* per head its value, if there is one to read */
  sn_lane_value *insns;  /* of the body described last */
  bool unable;           /* something that is not lowered was met */
} sn_jit;

/* Begins a nest: dims[i] is walked by stride pick[i] of operands, whose strides cover (space,
 * reduced). */
sn_status sn_jit_nest(sn_jit *j, int rank, const int *pick, const int64_t *dims);

/* The space's dims, those that all of post's operands walk as one merged: its rank. */
int sn_jit_merge_space(const sn_group *group, int *pick, int64_t *dims);

uint32_t sn_jit_operand(sn_jit *j, const sn_operand *operand); /* a leaf */

/* Describes a body; its values are then in j->insns. keeps: leaves of kept slots, or NULL. */
sn_status sn_jit_body(sn_jit *j, const sn_body *body, const uint32_t *kept);
void sn_jit_stores(sn_jit *j, const sn_store *stores, uint32_t n);

/* Writes a role's function. SN_NONE into *number where it cannot. */
sn_status sn_jit_strip(sn_jit *j, uint32_t *number);
sn_status sn_jit_fold(sn_jit *j, uint32_t *number);
sn_status sn_jit_columns(sn_jit *j, uint32_t *number);
sn_status sn_jit_rows(sn_jit *j, uint32_t *number);

#endif
