/* group_visit.h - everything that a group touches in memory, each operand once. This is the only
 * walk over all kinds; code for a single kind reads that kind's parts directly.
 *
 *   map          loads and stores of post
 *   reduce, row  where bags end; loads and stores of each phase, then of post
 *   contraction  all of the map before it; its factors a and b; loads and stores of post
 *   call         its inputs, then its result
 *   control      its inputs, then its results and the memory it works in, which it reads again from
 *                round to round
 *   chain        buffers outside of it, as loads and stores without strides; members are groups of
 *                their own */
#ifndef SN_FUSE_GROUP_VISIT_H
#define SN_FUSE_GROUP_VISIT_H

#include "fuse/group.h"

typedef enum sn_role {
  SN_ROLE_LOAD,
  SN_ROLE_INDEX, /* indices of the load that is visited next; or the ends of bags */
  SN_ROLE_STORE,
  SN_ROLE_FACTOR,
  SN_ROLE_INPUT, /* of a call */
  SN_ROLE_RESULT
} sn_role;

typedef struct sn_touch {
  sn_operand *operand;
  sn_role role;
  const sn_group *group; /* the visited one, or a map before it */
  const sn_body *body;   /* of loads and stores */
  uint32_t phase;        /* of these: the phase's number; in post: how many phases there are */
  /* the index space that the operand's dimensions cover */
  int rank;
  int64_t dims[SN_MAX_RANK];
} sn_touch;

static inline bool sn_touch_writes(const sn_touch *touch) {
  return touch->role == SN_ROLE_STORE || touch->role == SN_ROLE_RESULT;
}

/* Whether the operand walks dim i and dim `next`, which has size dim, as one. */
static inline bool sn_touch_walks_as_one(const sn_touch *touch, int i, int next, int64_t dim) {
  const int64_t *strides = touch->operand->strides;
  return strides[i] == strides[next] * dim;
}

/* Calls fn for each operand, which it may change, and ends with the first status that is not SN_OK.
 * A chain's loads and stores have rank 0. */
typedef sn_status sn_touch_fn(void *user, const sn_touch *touch);
sn_status sn_group_visit(const sn_group *group, sn_touch_fn *fn, void *user);

#endif
