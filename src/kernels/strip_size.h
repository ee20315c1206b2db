/* strip_size.h - the elements of a strip and the lanes in which it is summed. They are the same on all machines, as the
 * order of every sum follows from them (fold.h). */
#ifndef SN_KERNELS_STRIP_SIZE_H
#define SN_KERNELS_STRIP_SIZE_H

#define SN_STRIP 256

/* A strip is reduced in lanes: SN_FOLD_BYTES of accumulators, whatever the width of the machine's
 * vectors. */
#define SN_FOLD_BYTES 128

#endif
