/* kernel_text.h - kernels as C for the machine's compiler: a function for each hook of kernels/code.h, which does what
 * the strip VM does there. The kernels' control stays where it is, and functions and order of sums are the VM's own
 * text, so the bits are the same.
 *
 *   strip    the body `post` over the points           columns  per reduced point: the phase's body, combined with acc
 *   fold     the phase's body strip by strip, each     rows     per row the phases, as fold does; then, for up to a
 *            folded into the block as fold.h says               strip of rows at once, `post`
 *
 * What has an op without a row, or more points than an int32 counts, has no function: the VM does it. */
#ifndef SN_CC_KERNEL_TEXT_H
#define SN_CC_KERNEL_TEXT_H

#include "base/text.h"
#include "kernels/kernel.h"

typedef enum sn_cc_role {
  SN_CC_ROLE_STRIP,
  SN_CC_ROLE_FOLD,
  SN_CC_ROLE_COLUMNS,
  SN_CC_ROLE_ROWS,
  SN_CC_ROLES
} sn_cc_role;

/* Which functions a kernel, or a part of it (sn_kernel_part), has. */
typedef struct sn_cc_functions {
  bool has[SN_CC_ROLES];
} sn_cc_functions;

/* "k3_0_strip": of part `part` of kernel 3. */
void sn_cc_function_name(char *out, size_t room, size_t kernel, uint32_t part, sn_cc_role role);

/* Adds the functions of all parts of a kernel; out: an element for each part. blocks: which reductions stand in the
 * text already, zeroed at first: one flag per op and dtype that is computed with. */
sn_status sn_cc_add_kernel(sn_text *text, size_t number, const sn_kernel *kernel, uint8_t *blocks,
                           sn_cc_functions *out);

enum { SN_CC_BLOCKS = SN_OP_COUNT * SN_DTYPE_COUNT };

uint32_t sn_cc_count_parts(const sn_kernel *kernel);

#endif
