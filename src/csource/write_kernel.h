/* write_kernel.h - one group as a C function of plain loops. */
#ifndef SN_CSOURCE_WRITE_KERNEL_H
#define SN_CSOURCE_WRITE_KERNEL_H

#include "base/text.h"
#include "fuse/fuse.h"

/* Adds the function's name, "k<number>_<ops>". */
void sn_c_add_kernel_name(sn_text *text, size_t number, const sn_group *group);

/* Adds the function. Its parameters are the group's buffers as sn_group_buffers lists them, each
 * called b<value>. */
sn_status sn_c_add_kernel(sn_text *text, const sn_value *values, size_t number,
                          const sn_group *group, sn_value_set *set);

#endif
