/* What ggml's reference makes of numbers and of blocks: the marks in js/test/gguf.test.mjs. Compiled with ggml-quants.c
 * of ggml (https://github.com/ggml-org/ggml) and its headers:
 *
 *   gguf_cases quantize KIND N < floats > blocks      gguf_cases dequantize KIND N < blocks > floats
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-quants.h"

#define KINDS(K) \
  K(q4_0, 32) K(q4_1, 32) K(q5_0, 32) K(q5_1, 32) K(q8_0, 32) K(q4_K, 256) K(q5_K, 256) K(q6_K, 256)

int main(int count, char **words) {
  if (count != 4) return 1;
  size_t n = (size_t)atol(words[3]), bytes = 0;
  float *values = malloc(4 * n);
  void *blocks = malloc(4 * n);
  int makes = !strcmp(words[1], "quantize");
#define SIZE(kind, per) \
  if (!strcmp(words[2], #kind)) bytes = n / per * sizeof(block_##kind);
  KINDS(SIZE)
  if (makes ? fread(values, 4, n, stdin) != n : fread(blocks, 1, bytes, stdin) != bytes) return 1;
#define MAKE(kind, per)                                                                         \
  if (!strcmp(words[2], #kind) && makes) quantize_row_##kind##_ref(values, blocks, (int64_t)n); \
  if (!strcmp(words[2], #kind) && !makes) dequantize_row_##kind(blocks, values, (int64_t)n);
  KINDS(MAKE)
  if (makes)
    fwrite(blocks, 1, bytes, stdout);
  else
    fwrite(values, 4, n, stdout);
  return 0;
}
