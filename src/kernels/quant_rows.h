/* quant_rows.h - rows of quantised blocks (graph/quant_blocks.h), four at a time: unpacked once, then multiplied with as
 * many rows of x as there are.
 *
 *   part p of the four rows    q:      row 0: 32 int16 | row 1 | row 2 | row 3
 *                              scales: 4 scales | 4 mins
 *
 * A lane of the sums is a row, so that the order within a part, in which integers are added, is free. */
#ifndef SN_KERNELS_QUANT_ROWS_H
#define SN_KERNELS_QUANT_ROWS_H

#include "graph/quant_blocks.h"

#define SN_QUANT_ROWS 4

typedef struct sn_quant_rows {
  int16_t *q;
  float *scales;
  int64_t parts; /* of a row */
  bool has_min;
} sn_quant_rows;

/* Rows of x in parts; of row i q begins at i * 32 parts, a scale and a sum at i * parts. */
typedef struct sn_quant_x {
  int16_t *q;
  float *scales, *sums;
  int64_t rows;
} sn_quant_x;

/* Unpacks rows of whole blocks; some of them may be the same. */
void sn_quant_unpack(sn_block_kind kind, const uint8_t *const rows[SN_QUANT_ROWS],
                     const sn_quant_rows *out);

/* out[i * stride + r] = row i of x times row r, for r < width. */
void sn_quant_multiply(const sn_quant_rows *w, const sn_quant_x *x, float *out, int64_t stride,
                       int64_t width);

/* The numbers of row r. */
void sn_quant_numbers(const sn_quant_rows *w, int r, float *out);

#endif
