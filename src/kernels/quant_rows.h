/* quant_rows.h - rows of quantised blocks (graph/quant_blocks.h), four at a time: multiplied as they are with few rows of
 * x, or unpacked once for many.
 *
 *   part p of four unpacked rows   q:      row 0: 32 int16 | row 1 | row 2 | row 3
 *   or for code made at run time   q:      bytes: numbers 0 to 3 of row 0, of row 1, 2, 3 | 4 to 7 of row 0 ...
 *                                  scales: 4 scales | 4 mins
 *
 * A lane of the sums is a row, or of packed rows a part of one, since memory is read fastest in its order. So the order
 * within a part, in which integers are added, is free: of 16 numbers those at even places lie first, then those at odd ones,
 * since bytes come apart so. Vectors of 32 bytes have 8 numbers of two rows side by side, and so have unpacked rows then; of
 * small packed blocks they have two blocks of a row. */
#ifndef SN_KERNELS_QUANT_ROWS_H
#define SN_KERNELS_QUANT_ROWS_H

#include "graph/quant_blocks.h"
#include "kernels/isa.h"

#define SN_QUANT_ROWS 4

typedef struct sn_quant_rows {
  const uint8_t *rows[SN_QUANT_ROWS]; /* some may be the same */
  sn_block_kind kind;
  int64_t parts; /* of a row */
  int16_t *q;    /* unpacked */
  float *scales;
} sn_quant_rows;

/* What rows of x are quantised to. */
typedef enum sn_quant_form {
  SN_QUANT_SHORTS, /* in the order that is said above */
  /* for code made at run time with relaxed SIMD (jit/emit_blocks.c), in the order of x: */
  SN_QUANT_BYTES,
  SN_QUANT_APART /* two bytes a number, the positive ones of a part, then the negative ones without their sign, and 0 in
                    the place of the others */
} sn_quant_form;

/* Bytes of a row of k numbers in a form. */
static inline size_t sn_quant_bytes(sn_quant_form form, int64_t k) {
  return (size_t)k * (form == SN_QUANT_BYTES ? 1 : 2);
}

/* Rows of x in parts; of row i q begins at i * 32 parts, a scale and a total at i * parts. Behind all of it, and behind the
 * bytes, there are SN_QUANT_BEHIND_X bytes more, which are read with the last parts of a row, and count for nothing. */
#define SN_QUANT_BEHIND_X (3 * SN_PART * sizeof(int16_t))
typedef struct sn_quant_x {
  int16_t *q;    /* in shorts */
  int8_t *bytes; /* in the other form, if that is wanted */
  float *scales;
  int32_t *totals; /* of q */
  int64_t rows;
} sn_quant_x;

/* The zero that code made at run time counts the numbers of a kind from, as a power of 2; 0: they are as they are. It is that of
 * the kind, and 128 of bytes of Q8_0, which then have no sign. */
static inline int sn_quant_zero_bits(sn_block_kind kind, sn_quant_form form) {
  if (kind == SN_BLOCK_Q8_0) return form == SN_QUANT_BYTES ? 7 : 0;
  return sn_block_layouts[kind].zero == 16 ? 4 : sn_block_layouts[kind].zero == 8 ? 3 : 0;
}

/* Of an instruction set; all have the same bits. */
typedef struct sn_quant_kernels {
  /* Parts [from, to) of x, of all rows one after the other: in shorts, and in another form. */
  void (*take)(sn_quant_form form, const float *x, int64_t from, int64_t to, const sn_quant_x *out);

  void (*unpack)(const sn_quant_rows *w);
  /* As bytes, by steps of four numbers, those of each row. Not of Q6_K, whose numbers have more bits. */
  void (*unpack_bytes)(const sn_quant_rows *w);

  /* The numbers of all parts of a row. */
  void (*numbers)(sn_block_kind kind, const uint8_t *row, int64_t parts, float *out);

  /* Numbers [w, w + width) of rows [p, p + k), `bytes` each, as panels of a product (pack.h) one behind the other. */
  void (*pack)(sn_block_kind kind, const uint8_t *rows, int64_t bytes, int64_t w, int64_t width,
               int64_t p, int64_t k, int panel, float *panels);

  /* out[i * stride + r] = row i of x times row r, for r < width: of packed rows, or NULL where only code made at run time
   * has that; and of unpacked ones. */
  void (*multiply)(const sn_quant_rows *w, const sn_quant_x *x, float *out, int64_t stride,
                   int64_t width);
  void (*multiply_unpacked)(const sn_quant_rows *w, const sn_quant_x *x, float *out, int64_t stride,
                            int64_t width);
} sn_quant_kernels;

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa);
extern const sn_quant_kernels sn_quant_simd128, sn_quant_neon, sn_quant_generic, sn_quant_sse2,
    sn_quant_avx2;

#endif
