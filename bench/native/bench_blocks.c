/* bench_blocks.c - products with rows of quantised blocks, of each kind and instruction set: 1 row of x, as a language model
 * makes a token, in GB/s of blocks beside what a copy of memory reads and writes; and a prompt's rows, in 1e9 multiply-adds a
 * second.
 *
 *   bench_blocks [THREADS [ROWS]]     1 thread and 256 rows if not given */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/quant_blocks.h"
#include "kernels/isa.h"
#include "machine.h"
#include "sinter.h"

/* Large enough that blocks come from memory. */
enum { N = 16384, K = 4096, REPEATS = 9 };

static sn_context *ctx;

static void fail(void) {
  fprintf(stderr, "%s\n", sn_error_message(ctx));
  exit(1);
}

static sn_tensor *some_blocks(const sn_block_layout *layout) {
  const int64_t bytes = K / layout->numbers * layout->bytes;
  const size_t size = (size_t)(N * bytes);
  uint8_t *data = malloc(size);
  if (!data) exit(1);
  for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(i * 2654435761u >> 13 & 0x3f);
  sn_tensor *rows = sn_from_data(ctx, SN_U8, 2, (int64_t[]){N, bytes}, data);
  free(data);
  if (!rows) fail();
  return rows;
}

/* The best of the repeats, ms. */
static double time_product(sn_tensor *weights, sn_block_kind kind, int64_t rows) {
  const sn_block_layout *layout = &sn_block_layouts[kind];
  sn_tensor *given[] = {sn_placeholder(ctx, SN_F32, 2, (int64_t[]){rows, K}),
                        sn_placeholder(ctx, SN_U8, 2, (int64_t[]){N, K / layout->numbers * layout->bytes})};
  sn_tensor *y = sn_matmul_blocks(given[0], given[1], kind);
  sn_program *program;
  if (sn_compile(ctx, given, 2, &y, 1, NULL, &program)) fail();
  sn_tensor *values[] = {sn_full(ctx, SN_F32, 2, (int64_t[]){rows, K}, 0.5), weights}, *result;
  double best = 1e9;
  for (int i = 0; i < REPEATS; i++) {
    if (sn_scope_begin(ctx)) fail();
    const double begin = sn_host_now_ms();
    if (sn_program_run(program, values, &result) || !sn_data(result)) fail();
    const double ms = sn_host_now_ms() - begin;
    if (ms < best) best = ms;
    sn_scope_end(ctx);
  }
  sn_program_release(program);
  return best;
}

static void measure(const char *isa, int threads, int64_t rows) {
  const sn_options options = {.threads = threads, .isa = isa};
  if (sn_context_create(&options, &ctx)) return; /* the machine has no such kernels */
  for (int kind = 0; kind < (int)SN_BLOCK_KINDS; kind++) {
    if (sn_scope_begin(ctx)) fail();
    const sn_block_layout *layout = &sn_block_layouts[kind];
    const double bytes = (double)N * K / layout->numbers * layout->bytes;
    sn_tensor *weights = some_blocks(layout);
    const double copy = machine_peak(memory_bandwidth, threads);
    const double one = time_product(weights, (sn_block_kind)kind, 1);
    const double many = time_product(weights, (sn_block_kind)kind, rows);
    printf("%-8s %-5s 1 row %7.2f ms %6.1f GB/s of %5.1f   %3d rows %8.1f ms %7.1f G/s\n", isa,
           layout->name, one, bytes / one * 1e-6, copy, (int)rows, many,
           (double)N * K * (double)rows / many * 1e-6);
    sn_scope_end(ctx);
  }
  sn_context_destroy(ctx);
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  const int64_t rows = argc > 2 ? atoll(argv[2]) : 256;
  for (int isa = 0; isa <= (int)sn_isa_detect(); isa++)
    measure(sn_isa_name((sn_isa_id)isa), threads, rows);
  return 0;
}
