/* code.h - code made at run time for one group, which replaces loops of the strip VM and gives the
 * same bits. The kernels keep control: how work is cut and what is combined in which order stays in
 * C; the code takes over only what happens to the points of a range.
 *
 *   strip     post over points [flat, flat + n) of the space; of a map flat and n are multiples of
 *             SN_STRIP or reach the end, else any; total: the n values of the contraction or
 *             reduction there, or NULL
 *   fold      one block of fold.h: points [flat, flat + n) of a reduce's nest (space then reduced,
 *             row-major), n <= SN_FOLD_BLOCK, into *item; memory: SN_FOLD_SCRATCH_BYTES
 *   columns   acc[0 .. n) = reduced points from .. to - 1, from < to, of the strip of n outputs
 *             from `first` on, combined one after the other; in a ragged group, of points first ..
 *             of any row, with the first reduced point added to 0
 *   rows      rows [first, first + n) of a row group, `length` points of each, through all phases
 *             and post; length: all, or if the group is limited a multiple of SN_COLUMN_UNIT;
 *             memory: laid out as in kernel_row.c
 *   blocks    out[i] = row i of quantised blocks, at rows + i * bytes, times a row of x (quant_rows.h),
 *             for i < n
 *   tiles     out[i * stride + r] = row i of x times row r of four, both in bytes or in shorts (quant_rows.h), for i < n;
 *             stride in bytes
 *
 * values: base pointer of every buffer. In WebAssembly a function pointer is a place in the
 * function table of the thread's own instance, so each worker asks `ready` before it calls: that
 * installs the module if the thread does not have it yet, and returns false if it cannot. */
#ifndef SN_KERNELS_CODE_H
#define SN_KERNELS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void sn_strip_code(void *const *values, void *memory, const void *total, int32_t flat,
                           int32_t n);
typedef void sn_fold_code(void *const *values, void *memory, void *item, int32_t flat, int32_t n);
typedef void sn_columns_code(void *const *values, void *memory, void *acc, int32_t first, int32_t n,
                             int32_t from, int32_t to);
typedef void sn_rows_code(void *const *values, void *memory, int32_t first, int32_t n,
                          int32_t length);
typedef void sn_blocks_code(const uint8_t *rows, int32_t bytes, int32_t n, const int8_t *q,
                            const float *scales, const int32_t *totals, int32_t parts, float *out);
typedef void sn_tiles_code(const void *numbers, const float *w_scales, const int8_t *q,
                           const float *scales, const int32_t *totals, int32_t parts, int32_t n,
                           float *out, int32_t stride);

typedef struct sn_code {
  const void *module; /* NULL: there is none */
  bool (*ready)(const void *module);
  const char *engine; /* what made it: "jit" or "cc" */
  const struct sn_code *
      made; /* NULL, or the code to call once it is ready: this one tells only what there will be */
  sn_strip_code *strip; /* NULL: the VM does this part */
  sn_fold_code *fold;
  sn_columns_code *columns;
  sn_rows_code *rows;
  sn_blocks_code *blocks;
  sn_tiles_code *tiles;
} sn_code;

/* The code if this worker can call it, else NULL. */
static inline const sn_code *sn_code_ready(const sn_code *code) {
  if (!code->module || !code->ready(code->module)) return NULL;
  return code->made ? code->made : code;
}

#endif
