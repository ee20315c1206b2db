/* compiled.h - kernels, and loops over tiny tensors, compiled by the machine's C compiler, in the background: what a
 * device has of it.
 *
 *   API thread    text of a program's kernels -> module --+                        READY or FAILED
 *   workers       ask `ready`: no, until it is; they count, which makes a module WANTED
 *   its thread    WANTED -> the cache on disk, else the compiler -> dlopen -> publishes the functions
 *
 * Equal texts are one module. Nobody waits: until a module is ready, and where there never is one, the strip VM runs.
 * Only the thread of the API allocates, registers and releases. A published module never changes again. */
#ifndef SN_CC_COMPILED_H
#define SN_CC_COMPILED_H

#include "kernels/kernel.h"
#include "kernels/serial_loop.h"

typedef struct sn_cc sn_cc;
typedef struct sn_cc_program sn_cc_program;

/* fused: which bits functions of float32 have. *out: NULL where the environment switches it off. */
sn_status sn_cc_open(sn_env *env, sn_isa_id isa, bool fused, sn_cc **out);
void sn_cc_close(sn_cc *cc); /* NULL is ignored */

/* Hangs code into a program's kernels, which arena outlives; *out: to be released before them, or NULL. */
sn_status sn_cc_hang_in(sn_cc *cc, sn_arena *arena, sn_kernel *kernels, size_t n,
                        sn_cc_program **out);
/* The same for a loop over tiny programs, apart from the programs that it consists of. *out: NULL if it stays with
 * them. */
sn_status sn_cc_make_loop(sn_cc *cc, sn_arena *arena, const sn_serial_control *loop,
                          sn_cc_program **out);

/* Where its code stands once sn_cc_is_ready says so of its module. */
sn_serial_code *const *sn_cc_loop_of(const sn_cc_program *loop);
const void *sn_cc_module_of(const sn_cc_program *loop);
bool sn_cc_is_ready(const void *module);

void sn_cc_release(sn_cc_program *program); /* NULL is ignored */

/* Makes all modules that there are, and returns when they are ready or have failed. */
void sn_cc_wait(sn_cc *cc);

/* Has all modules made that there are, and says whether some are still to come. */
bool sn_cc_coming(sn_cc *cc);

/* How many modules there are, where they came from, and what failed last, in one line; it lives until the next call. */
const char *sn_cc_state(sn_cc *cc);

#endif
