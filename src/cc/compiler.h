/* compiler.h - the machine's C compiler as a child process: no shell, a time limit, nothing of its output is shown but
 * the first line of a complaint. */
#ifndef SN_CC_COMPILER_H
#define SN_CC_COMPILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/isa.h"

enum { SN_CC_PATH = 1024, SN_CC_REASON = 512 };

typedef struct sn_cc_compiler {
  char path[SN_CC_PATH];           /* of the program */
  char identity[SN_CC_PATH + 512]; /* its path, size, time and what it says of its version */
  sn_isa_id isa;                   /* that it compiles for */
  int seconds;                     /* at most for one call */
  atomic_bool *stop;               /* ends a call that is under way */
} sn_cc_compiler;

/* Finds the program `name`, a path or a name in PATH, and asks it for its version. false: reason says why not. */
bool sn_cc_find_compiler(sn_cc_compiler *c, const char *name, char *reason);

/* Compiles source into a shared object; log: a file for its complaints. */
bool sn_cc_compile(const sn_cc_compiler *c, const char *source, const char *object, const char *log,
                   char *reason);

/* What it is called with, one flag after the other, for the key of what it made. */
const char *const *sn_cc_flags(sn_isa_id isa);

/* What SN_SIMD_BYTES is for an instruction set. */
int sn_cc_vector_bytes(sn_isa_id isa);

#endif
