/* serial_loop.h - a loop whose rounds are scalar programs, as one piece of work: its carries stay in registers.
 *
 *   for up to n rounds                        body, test: maps over one point
 *     if there is a test and it fails: end
 *     body
 *
 * Where values lie is told by a table of addresses:
 *
 *   | of the body's values | of the test's | carry 0, 1 ... as it begins | carry 0, 1 ... as it ends | the test |
 */
#ifndef SN_KERNELS_SERIAL_LOOP_H
#define SN_KERNELS_SERIAL_LOOP_H

#include "fuse/group.h"

typedef enum sn_serial_kind {
  SN_SERIAL_STILL, /* in memory, the same in every round */
  SN_SERIAL_MOVES, /* in memory, `step` bytes further in every round */
  SN_SERIAL_CARRY, /* an element of carry `carry`: read as it was, or written for the next round */
  SN_SERIAL_TEST   /* whether there is a round */
} sn_serial_kind;

typedef struct sn_serial_value {
  sn_serial_kind kind;
  int32_t step;
  uint32_t carry;
} sn_serial_value;

typedef struct sn_serial_loop {
  const struct sn_kernel *body, *test; /* test: NULL, the number of rounds is known */
  uint32_t n_body_values, n_values;    /* of the body; and with those of the test */
  sn_serial_value *values;
  uint32_t n_carries;
  sn_type *carries;
} sn_serial_loop;

static inline uint32_t sn_serial_begins(const sn_serial_loop *loop, uint32_t carry) {
  return loop->n_values + carry;
}
static inline uint32_t sn_serial_ends(const sn_serial_loop *loop, uint32_t carry) {
  return loop->n_values + loop->n_carries + carry;
}
static inline uint32_t sn_serial_test(const sn_serial_loop *loop) {
  return loop->n_values + 2 * loop->n_carries;
}
static inline uint32_t sn_serial_table(const sn_serial_loop *loop) {
  return sn_serial_test(loop) + 1;
}

/* Code for it (see code.h): at most n rounds, n > 0. Carries end where the table says; with a test, *its place says
 * whether rounds are left. */
typedef void sn_serial_code(void *const *table, int32_t n);

#endif
