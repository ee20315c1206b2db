/* compiled.h - compiles kernels, and loops over tiny tensors, with the machine's C compiler in the background. An sn_cc
 * belongs to a device; a module is one shared object.
 *
 *   API thread          text of a program's kernels -> module (COLD)
 *   workers             ask sn_cc_is_ready before they call; enough calls make a module WANTED
 *   background thread   WANTED -> the cache on disk, else the compiler -> dlopen -> publishes the functions: READY, or FAILED
 *
 * Equal texts are one module. Nobody waits: the strip VM runs until a module is ready, and always if it fails. Only the
 * thread of the API allocates, registers and releases. A published module never changes again. */
#ifndef SN_CC_COMPILED_H
#define SN_CC_COMPILED_H

#include "kernels/kernel.h"
#include "kernels/serial_loop.h"

typedef struct sn_cc sn_cc;
typedef struct sn_cc_program sn_cc_program;

/* fused: whether functions of float32 use fused multiply-adds. *out is NULL if SINTER_CC switches compiling off. */
sn_status sn_cc_open(sn_env *env, sn_isa_id isa, bool fused, sn_cc **out);
void sn_cc_close(sn_cc *cc); /* NULL is ignored */

/* Puts code that is still to be compiled into a program's kernels. *out, in the arena, which must live as long as the
 * kernels, has to be released before them; NULL if no kernel can have code. */
sn_status sn_cc_attach(sn_cc *cc, sn_arena *arena, sn_kernel *kernels, size_t n,
                       sn_cc_program **out);
/* Makes code for a whole loop over tiny programs, besides that of its kernels. *out is NULL if the loop can have none. */
sn_status sn_cc_make_loop(sn_cc *cc, sn_arena *arena, const sn_serial_control *loop,
                          sn_cc_program **out);

/* The place of the loop's function, which is valid once sn_cc_is_ready is true for the loop's module. */
sn_serial_code *const *sn_cc_loop_of(const sn_cc_program *loop);
const void *sn_cc_module_of(const sn_cc_program *loop);
bool sn_cc_is_ready(const void *module);

void sn_cc_release(sn_cc_program *program); /* NULL is ignored */

/* Asks for all modules, and returns when each is ready or has failed. */
void sn_cc_wait(sn_cc *cc);

/* Asks for all modules, without waiting, and returns whether some are not finished. */
bool sn_cc_is_compiling(sn_cc *cc);

/* One line that says how many modules there are, where they came from, and what failed last. Valid until the next call. */
const char *sn_cc_state(sn_cc *cc);

#endif
