/* jit_modules.c FILE SEED FIRST COUNT RELAXED - writes random kernels as the JIT's modules, each
 * with a memory to run it in, calls to make and the memory that the strip VM leaves: tests/jit runs
 * them.
 *
 * A record is the length of a JSON line, the line, then the module, its text, memory before, memory
 * after. Groups are made here rather than from graphs, so that operands have any strides: permuted,
 * flipped, broadcast, with gaps. Buffers lie end to end up to the memory's last byte, with poison
 * between them, so a byte too many is a difference or a trap. */
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
