/* waves.h - kernels that run side by side.
 *
 * A wave is a sequence of kernels, neighbours in a program's order, none of which writes memory that another touches:
 * they may run in any order, and at the same time. So one dispatch per stage serves all of them instead of one for each
 * kernel, and kernels too small to occupy all workers do so together. A worker's share is the same part of every kernel,
 * so that its data stay in its cache; chunks of it are slices of one kernel.
 *
 * Each kernel has its own part of the memory that workers share; a worker's own memory is used by one chunk at a time.
 * Results have the same bits as without waves, since units are cut in the same way. */
#ifndef SN_RUN_WAVES_H
#define SN_RUN_WAVES_H

#include "kernels/kernel.h"
#include "program/steps.h"
#include "threads/pool.h"

/* Most kernels of a wave. */
enum { SN_WAVE_MOST = 16 };

/* A worker's share of units is cut into at least so many chunks, if there are units enough. */
#define SN_CHUNKS_PER_WORKER 4

typedef struct sn_waves {
  uint32_t *lengths; /* per kernel, at the first one of each wave: how many kernels the wave has */
  size_t *shared;    /* per kernel: where its part of its wave's shared memory begins */
  size_t bytes;      /* of shared memory that the largest wave takes */
} sn_waves;

/* Cuts the program into waves. kernels: one per step. */
sn_status sn_waves_find(sn_arena *arena, const sn_program_code *program, const sn_kernel *kernels,
                        sn_waves *out);

/* Runs the kernels of the wave that begins with kernel k, on as many workers as are worth it. base: the fields that all of
 * their runs have, without kernel and stage; its shared memory is that of the whole wave. */
sn_status sn_wave_run(const sn_waves *waves, const sn_kernel *kernels, size_t k,
                      const sn_kernel_run *base, const sn_target_costs *costs, sn_pool *pool);

/* How many of the available workers so much work is worth, in nanoseconds on one worker. */
int sn_workers_for(const sn_target_costs *costs, double worth, int available);

#endif
