/* waves.h - kernels that run side by side.
 *
 * A wave is a row of neighbours in a program's order none of which writes what another touches: they may run in
 * any order, and at once. One dispatch for each stage then does for all of them what would be one for each, and
 * kernels too small for all workers get them together. A worker's share is the same part of every kernel, so that
 * it stays with what it has in its cache; chunks of it are slices of one kernel.
 *
 * Each kernel has its part of the memory that workers share to itself; a worker's own memory is used by one chunk
 * at a time. Results are the same to the bit, as units are. */
#ifndef SN_RUN_WAVES_H
#define SN_RUN_WAVES_H

#include "kernels/kernel.h"
#include "program/steps.h"
#include "threads/pool.h"

/* Kernels of a wave at most. */
enum { SN_WAVE_MOST = 16 };

/* Chunks that a worker's share of units is cut into at least, where there are units enough. */
#define SN_CHUNKS_PER_WORKER 4

typedef struct sn_waves {
  uint32_t *lengths; /* of the first kernel of each wave: how many are in it */
  size_t *shared;    /* per kernel: where its part of its wave's shared memory begins */
  size_t bytes;      /* of shared memory that the largest wave takes */
} sn_waves;

/* kernels: of the program's steps, one each. */
sn_status sn_waves_find(sn_arena *arena, const sn_program_code *program, const sn_kernel *kernels,
                        sn_waves *out);

/* Runs the kernels of the wave that begins with kernel k, on as many workers as are worth it. base: what a run of each of them
 * has, but for the kernel and its stage; its shared memory is the wave's. */
sn_status sn_wave_run(const sn_waves *waves, const sn_kernel *kernels, size_t k,
                      const sn_kernel_run *base, const sn_target_costs *costs, sn_pool *pool);

/* Workers that so much work, in nanoseconds of one, is worth, out of those that there are. */
int sn_workers_for(const sn_target_costs *costs, double worth, int available);

#endif
