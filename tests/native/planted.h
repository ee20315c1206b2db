/* planted.h - plants faults of lowering into a compiled program, which the judge has to see. */
#ifndef SN_TESTS_PLANTED_H
#define SN_TESTS_PLANTED_H

#include "run/executable.h"

typedef enum planted_fault {
  PLANTED_STILL,   /* an operand that walks along a dimension stands still */
  PLANTED_FOREIGN, /* an operand walks as another one of its body does */
  PLANTED_UNSTORED /* a result is not stored */
} planted_fault;

/* Puts it into the first place of exe after `skip` others; false: there is none. The kernel is made
 * anew, for machine. */
bool planted_in(sn_executable *exe, const sn_machine *machine, planted_fault fault, size_t skip);

#endif
