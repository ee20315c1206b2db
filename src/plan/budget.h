/* budget.h - groups whose arena keeps within so many bytes: cheap values are made again where they
 * are used, by the group that made them, instead of being kept until then (evict.h). As these are
 * groups like others, no later stage can undo it, and all bits stay. */
#ifndef SN_PLAN_BUDGET_H
#define SN_PLAN_BUDGET_H

#include "plan/plan.h"

/* Puts other groups in the place of *groups if their arena, planned as sn_plan_memory does, takes
 * more than so many bytes; *needed: what it takes without a budget. SN_ERR_ARGUMENT, and how far it
 * got, if none were found that keep within. What the groups are made of lives in arena. */
sn_status sn_keep_within(sn_arena *arena, sn_groups *groups, const bool *donate, size_t n_arguments,
                         size_t budget, size_t *needed);

#endif
