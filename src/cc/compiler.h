/* compiler.h - runs the machine's C compiler as a child process: without a shell, and with a time limit. Of its output only
 * the first line of an error message is used. */
#ifndef SN_CC_COMPILER_H
#define SN_CC_COMPILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernels/isa.h"

enum { SN_CC_PATH = 1024, SN_CC_REASON = 512 };

typedef struct sn_cc_compiler {
  char path[SN_CC_PATH];           /* of the executable */
  char identity[SN_CC_PATH + 512]; /* the executable's path, size, modification time and --version */
  sn_isa_id isa;                   /* instruction set to compile for */
  int seconds;                     /* time limit of one call */
  atomic_bool *stop;               /* if it becomes true, a call under way is killed */
} sn_cc_compiler;

/* Finds the executable `name`, a path or a name in PATH, and asks it for its version. If it returns false, `reason`, of
 * SN_CC_REASON bytes, says why, as it does below. */
bool sn_cc_find_compiler(sn_cc_compiler *c, const char *name, char *reason);

/* Compiles source into a shared object. log: path of a file for the compiler's messages. */
bool sn_cc_compile(const sn_cc_compiler *c, const char *source, const char *object, const char *log,
                   char *reason);

/* The flags it is called with, NULL at the end. They are also a part of a cached object's key. */
const char *const *sn_cc_flags(sn_isa_id isa);

/* SN_SIMD_BYTES for an instruction set. */
int sn_cc_vector_bytes(sn_isa_id isa);

#endif
