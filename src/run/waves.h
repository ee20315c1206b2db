/* waves.h - kernels that run side by side.
 *
 * A wave is a row of neighbours in a program's order none of which writes what another touches: they may run in
 * any order, and at once. One dispatch then does for all of them what would be one for each, and kernels too
 * small for all workers get them together. A unit of a wave is a slice of every kernel, so that a worker stays
 * with the part of the data that it has in its cache.
 *
 * Each kernel has its part of the memory that workers share to itself; a worker's own memory is used by one unit
 * at a time. Results are the same to the bit, as units are. */
#ifndef SN_RUN_WAVES_H
#define SN_RUN_WAVES_H

#include "run/executable.h"

/* Kernels of a wave at most. */
enum { SN_WAVE_MOST = 16 };

/* Fills exe->waves and exe->wave_shared once the kernels are made, and adds to *shared, the bytes that the largest
 * kernel shares, what a wave needs beyond. */
sn_status sn_waves_find(sn_arena *arena, sn_executable *exe, size_t *shared);

/* Runs the kernels of the wave that begins with kernel k, on as many workers as are worth it. */
sn_status sn_wave_run(const sn_run *run, size_t k);

/* Workers that so much work, in nanoseconds of one, is worth, out of those that there are. */
int sn_workers_for(const sn_executable *exe, double worth, int available);

/* Chunks that a worker's share is cut into at least, where there are units enough. */
#define SN_CHUNKS_PER_WORKER 4

#endif
