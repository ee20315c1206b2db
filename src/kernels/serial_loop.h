/* serial_loop.h - a loop over tiny programs as one function: every element is a scalar, carries stay in registers, and
 * loops and conditions within it are part of it.
 *
 *   for up to n rounds                        body, test: programs of few operations on few elements,
 *     if there is a test and it fails: end    with control flow of their own
 *     body
 *
 * The function gets a table of addresses; those of stacked values are of the first round's slice:
 *
 *   | input 0, 1 ... of the body: carries as they begin, slices, constants | result 0, 1 ...: carries as they end, slices |
 *   | whether there is a further round, if there is a test | memory for what inner loops stack | */
#ifndef SN_KERNELS_SERIAL_LOOP_H
#define SN_KERNELS_SERIAL_LOOP_H

#include "fuse/group.h"
#include "graph/regions.h"

/* The program of a region, and what runs each of its groups. */
typedef struct sn_serial_region {
  const sn_groups *groups;
  const struct sn_kernel *kernels;
  const struct sn_serial_control *const *controls; /* per group: if it is control flow, else NULL */
} sn_serial_region;

typedef struct sn_serial_control {
  sn_control control;
  const sn_group *group;
  sn_serial_region regions[SN_MAX_REGIONS];
} sn_serial_control;

/* Whether a loop is better run as one function than kernel by kernel: its kernels have little to do, and are of kinds that
 * can be written out as scalar code. */
bool sn_serial_suits(const sn_target *target, const sn_serial_control *loop);

/* Rough flops of a round. */
double sn_serial_round(const sn_serial_control *loop);

/* Most bytes of the stacks that scans within the loop read and write. */
size_t sn_serial_stacks(const sn_serial_control *loop);

static inline size_t sn_serial_inputs(const sn_control *c) {
  return c->n_carries + c->n_stacks + c->n_consts;
}
static inline size_t sn_serial_test(const sn_control *c) {
  return sn_serial_inputs(c) + c->n_results;
}
static inline size_t sn_serial_memory(const sn_control *c) { return sn_serial_test(c) + 1; }
static inline size_t sn_serial_table(const sn_control *c) { return sn_serial_memory(c) + 1; }

/* The function (see code.h): runs at most n rounds, n > 0. */
typedef void sn_serial_code(void *const *table, int32_t n);

#endif
