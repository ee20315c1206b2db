/* exchange.h - steps that are handed to other processes. A run goes on while they are under way: an exchange begins at its
 * step, and is waited for before the first step that touches what it brings.
 *
 *   steps     kernel   all_reduce   kernel   kernel   update
 *                      start ------------------------ finish
 *
 * Invariant: all processes run the same steps, so that their exchanges are the same, in one order. */
#ifndef SN_RUN_EXCHANGE_H
#define SN_RUN_EXCHANGE_H

#include "program/steps.h"

typedef struct sn_exchanges sn_exchanges;

/* Those among the steps of a program, in *out; NULL: there are none. One run uses them at a time. */
sn_status sn_exchanges_make(sn_arena *arena, const sn_program_code *program, sn_exchanges **out);

/* Waits for what step k touches; behind the last step for all. */
sn_status sn_exchange_before(const sn_exchanges *e, const sn_processes *with, size_t k);

/* Begins step k, if it is an exchange; values: base pointers of the run. */
sn_status sn_exchange_start(sn_exchanges *e, const sn_processes *with, void *const *values,
                            size_t k);

#endif
