/* csource.h - a compiled graph as readable standalone C11: a backend that prints.
 *
 * One function per kernel, written as plain loops from its group, and one that calls them in order.
 * Intermediates lie in one static block at the places of the plan. The C library's mathematics
 * stands for the functions of the table, so results agree to their rounding, not bit for bit.
 */
#ifndef SN_CSOURCE_CSOURCE_H
#define SN_CSOURCE_CSOURCE_H

#include "plan/plan.h"

/* name: of the function to call. The text is arena's. */
sn_status sn_c_source(const sn_groups *groups, const sn_plan *plan, const char *name,
                      sn_arena *arena, const char **out);

#endif
