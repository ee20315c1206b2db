/* jit_cases.h - random kernels for the JIT: a group, its kernel, an image of wasm's memory, and
 * that image as the strip VM leaves it. */
#ifndef JIT_CASES_H
#define JIT_CASES_H

#include <stdio.h>

#include "base/alloc.h"
#include "jit/emit.h"
#include "jit/lower_kernel.h"
#include "ledger.h"
#include "op_cases.h"

#define JIT_MAX_CALLS 24
#define JIT_MAX_BUFFERS 24

typedef struct jit_call {
  uint32_t function;
  int n_args;
  int32_t args[9];
} jit_call;

typedef struct jit_buffer {
  sn_dtype dtype;
  int64_t elements;
  uint32_t at; /* address in the image */
  bool output;
} jit_buffer;

typedef struct jit_case {
  ledger ledger;
  sn_env env;
  sn_arena arena;
  case_random random;
  bool relaxed;
  char name[200];
  sn_group group;
  sn_kernel kernel;
  sn_jit_module module;
  const char *text; /* of the module */
  jit_buffer buffers[JIT_MAX_BUFFERS];
  uint32_t n_buffers;
  size_t bytes; /* of the image */
  char *before, *after;
  uint32_t values, worker, extra; /* addresses of buffers, worker memory, totals or results */
  sn_dtype extra_dtype;
  int64_t extra_elements;
  jit_call calls[JIT_MAX_CALLS];
  int n_calls;
} jit_case;

/* Case `number` of a seed. False: the library failed; the reason is printed. */
bool jit_case_make(jit_case *c, uint64_t seed, int number, bool relaxed);
bool jit_case_write(const jit_case *c, FILE *out);
void jit_case_free(jit_case *c);

#endif
