/* functions.h - what the rows of ops.def say as data: their expressions and the functions of
 * expand_f32.inc and expand_f64.inc, as scripts/gen-functions.mjs wrote them down, for whoever
 * makes something of them at run time - the emitter instructions, WebAssembly its reference values.
 * Machine code of each would be a tenth of what a page downloads. Where C is compiled for the
 * machine that runs it, the texts are code (scalar_posix.c, graph/simd.h). */
#ifndef SN_GRAPH_FUNCTIONS_H
#define SN_GRAPH_FUNCTIONS_H

#include "graph/ops.h"

typedef enum sn_word {
#define WORD1(name, ...) SN_WORD_##name,
#define WORD2(name, ...) SN_WORD_##name,
#define WORD3(name, ...) SN_WORD_##name,
#include "graph/words.def"
  SN_WORD_COUNT,
  SN_WORD_CONSTANT = SN_WORD_COUNT /* args[0]: its bits */
} sn_word;

/* Who makes something of the words. A value is what word() returned for it. */
typedef struct sn_word_user {
  uint64_t (*word)(void *self, sn_word word, const uint64_t *args);
  void *self;
  bool fused; /* X_FUSED of float32 */
} sn_word_user;

/* The value of an elementwise op of the table, or of one step of a reduction, on inputs of a dtype.
 * b: of ops that have it. */
uint64_t sn_function_apply(const sn_word_user *user, sn_op op, sn_dtype dtype, uint64_t a,
                           uint64_t b);

/* The bits of a small dtype from a value of its wide one, or the value that its bits stand for. */
uint64_t sn_function_cast(const sn_word_user *user, sn_dtype small, bool narrow, uint64_t a);

#endif
