/* exchange.h - steps that exchange data with other processes. A run goes on while exchanges are under way: one begins at its
 * step, and the run waits for it before the first step that touches its result.
 *
 *   steps     kernel   all_reduce   kernel   kernel   update
 *                      start ------------------------ finish
 *
 * Invariant: all processes run the same steps, so they make the same exchanges in the same order. */
#ifndef SN_RUN_EXCHANGE_H
#define SN_RUN_EXCHANGE_H

#include "program/steps.h"

typedef struct sn_exchanges sn_exchanges;

/* Finds the exchanges among the steps of a program; *out stays as it is if there are none. One run uses them at a time. */
sn_status sn_exchanges_make(sn_arena *arena, const sn_program_code *program, sn_exchanges **out);

/* Waits for the exchanges whose results step k touches; for all if k is the number of steps. */
sn_status sn_exchange_before(const sn_exchanges *e, const sn_processes *with, size_t k);

/* Begins step k, if it is an exchange; values: base pointers of the run. */
sn_status sn_exchange_start(sn_exchanges *e, const sn_processes *with, void *const *values,
                            size_t k);

#endif
