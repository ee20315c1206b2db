/* standalone.h - what sinter/export makes a module of its own of: one compiled program, ready to run, and what of the
 * core its run needs. Only the module with one thread has these functions.
 *
 * JS makes an instance of the module for this alone, and throws it away afterwards:
 *
 *   create -> load -> (JS follows the pointers from `root`) -> place -> run -> (JS copies memory and code)
 *
 * It is noted which blocks of the heap come and go, and each object of an arena is a block of its own. So JS knows where an
 * object begins and ends, and takes those alone that a run can reach.
 *
 * Invariant: after place, sinter_standalone_run reaches nothing but the data of the module, the blocks that are reached
 * from the root, and what place gave out. */
#ifndef SINTER_STANDALONE_H
#define SINTER_STANDALONE_H

#include "bridge.h"

/* A context whose blocks are noted. */
sn_status SN_EXPORT(sinter_standalone_create)(bool relaxed_simd);

/* Memory for the bytes of a program that was saved; NULL when there is none. */
void *SN_EXPORT(sinter_standalone_take)(uint32_t bytes);

/* Compiles it, and drops what of the program only a compiler reads.
 * out: arguments, of them inputs, state, rates (-1, 0: no training step), results; the root's address and its
 * words; where the heap begins; what became of the heap, pairs of an address and a size (0: it went), and how many. */
sn_status SN_EXPORT(sinter_standalone_load)(const void *bytes, uint32_t size);

/* Lays the buffers of a run one behind the other from this address on.
 * out: the address behind them; per argument, then per result: address, dtype, rank and SN_MAX_RANK dims. */
sn_status SN_EXPORT(sinter_standalone_place)(uint32_t address);

const char *SN_EXPORT(sinter_standalone_note)(void); /* that the program was saved with */

/* Of argument i: its name in a training step (NULL: none), and where the value is that it was saved with (NULL: none). */
const char *SN_EXPORT(sinter_standalone_path)(uint32_t i);
const void *SN_EXPORT(sinter_standalone_value)(uint32_t i);

/* One run. JS has put the arguments in their places. */
sn_status SN_EXPORT(sinter_standalone_run)(void);

/* Every kernel once, of all regions too, whether their branch is taken or not, on memory of its own behind what place gave
 * out: after that JS knows which functions of the core the kernels call by a pointer.
 * out: one that is called so besides, or 0. */
sn_status SN_EXPORT(sinter_standalone_dry_run)(void);

#endif
