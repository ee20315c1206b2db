/* jit_modules.c FILE SEED FIRST COUNT RELAXED - writes random kernels as the JIT's modules, each
 * with a memory to run it in, the calls to make, and the memory as the strip VM leaves it. tests/jit runs
 * them.
 *
 * A record is the length of a JSON line, the line, then the module, its text, memory before, memory
 * after. Groups are made directly and not from graphs, so that operands can have any strides: permuted,
 * flipped, broadcast, with gaps. Buffers fill the memory up to its last byte, with poison between them,
 * so an access of one byte too many shows as a difference or a trap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_cases.h"

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "use: jit_modules FILE SEED FIRST COUNT RELAXED\n");
    return 2;
  }
  FILE *out = fopen(argv[1], "wb");
  if (!out) return 1;
  const uint64_t seed = strtoull(argv[2], NULL, 0);
  const int first = atoi(argv[3]), count = atoi(argv[4]);
  const bool relaxed = atoi(argv[5]) != 0;
  int failed = 0;
  for (int i = 0; i < count && !failed; i++) {
    jit_case c;
    failed = !jit_case_make(&c, seed, first + i, relaxed) || !jit_case_write(&c, out);
    jit_case_free(&c);
  }
  if (fclose(out)) failed = 1;
  return failed;
}
