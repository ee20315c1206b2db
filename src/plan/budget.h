/* budget.h - changes the groups so that their arena keeps within a memory budget: cheap values are not
 * kept until they are used but computed again, by a copy of the group that made them (evict.h). The
 * copies are groups like any others, so no later stage merges them again, and all bits are the same. */
#ifndef SN_PLAN_BUDGET_H
#define SN_PLAN_BUDGET_H

#include "plan/plan.h"

/* If the arena of *groups, as sn_plan_memory plans it, takes more than `budget` bytes, replaces them by
 * groups that keep within it. Sets *needed to the bytes without a budget. SN_ERR_ARGUMENT, with a
 * message that says how far it got, if no such groups are found. New groups are allocated in arena. */
sn_status sn_keep_within_budget(sn_arena *arena, sn_groups *groups, const bool *donate,
                                size_t n_arguments, size_t budget, size_t *needed);

#endif
