/* poison.h - memory that is about to be written is filled with NaN, so that a missing store, or a
 * read of memory that was not written, shows in the results: SINTER_POISON=1 in the environment, or
 * sn_set_poison.
 *
 * This fills new storages; the arena before each run; and before each kernel its scratch memory and
 * the intermediates that it is the first to write, except for those that take over the memory of a
 * value that it reads. Results are the same with and without it, unless there is such a fault. */
#ifndef SN_RUN_POISON_H
#define SN_RUN_POISON_H

#include <stddef.h>
#include <stdint.h>

/* A NaN in float16, bfloat16, float32 and float64; a conspicuous integer; no valid bool. */
#define SN_POISON_WORD UINT32_C(0x7ff87ff8)

void sn_poison(void *block, size_t bytes);

#endif
