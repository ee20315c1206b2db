/* strip_size.h - how much a strip has, and in how many lanes it is summed, whatever the machine: the order of every sum
 * follows from these numbers (fold.h). */
#ifndef SN_KERNELS_STRIP_SIZE_H
#define SN_KERNELS_STRIP_SIZE_H

#define SN_STRIP 256

/* A strip is reduced in lanes: SN_FOLD_BYTES of accumulators, whatever the width of the machine's
 * vectors. */
#define SN_FOLD_BYTES 128

#endif
