/* kernel_text.h - prints kernels as C for the machine's compiler: one function for each hook of kernels/code.h that it can
 * do (its role), which replaces the strip VM there. The control of kernels stays in the library, and the C includes the
 * VM's own text for functions and for the order of sums, so the bits are the same.
 *
 *   strip    the body `post` over the points           columns  per reduced point: the phase's body, combined with acc
 *   fold     the phase's body strip by strip, each     rows     per row the phases, as fold does; then, for up to a
 *            folded into the block as fold.h says               strip of rows at once, `post`
 *
 * A part with an op that has no row, or with more points than an int32 counts, has no function: the VM does it. */
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

/* The name of a function, such as "k3_0_strip" of part 0 of kernel 3. */
void sn_cc_function_name(char *out, size_t room, size_t kernel, uint32_t part, sn_cc_role role);

/* Adds the functions of all parts of a kernel to the text; out has an element per part. blocks: SN_CC_BLOCKS flags, one per
 * op and dtype, zeroed before the first kernel: which reductions the text defines already. */
sn_status sn_cc_add_kernel(sn_text *text, size_t number, const sn_kernel *kernel, uint8_t *blocks,
                           sn_cc_functions *out);

enum { SN_CC_BLOCKS = SN_OP_COUNT * SN_DTYPE_COUNT };

uint32_t sn_cc_count_parts(const sn_kernel *kernel);

#endif
