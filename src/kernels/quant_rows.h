/* quant_rows.h - rows of quantised blocks (graph/quant_blocks.h) times rows of x. With few rows of x each block is multiplied
 * as it is read. With more of them some rows of blocks are unpacked once, a tile, and meet all rows of x.
 *
 * Integers are summed within a part, so their order there is free, and each instruction set takes the one it is fastest
 * with. A tile of `rows` rows lies so:
 *
 *   in shorts   q: part 0: 32 numbers of row 0 | of row 1 | row 2 | row 3 || part 1 ...
 *   in bytes    q: part 0: numbers 0 to 3 of row 0, of row 1 ... | 4 to 7 of row 0 ... || part 1 ...
 *   scales      part 0: a scale of each row | a min of each row || part 1 ...
 *
 * For code made at run time numbers lie as in bytes, and in shorts two of a row instead of four. In shorts, of 16 numbers those
 * at even places lie first, then those at odd ones, since bytes come apart so. */
#ifndef SN_KERNELS_QUANT_ROWS_H
#define SN_KERNELS_QUANT_ROWS_H

#include "graph/quant_blocks.h"
#include "kernels/isa.h"

#define SN_QUANT_ROWS 4 /* of a tile in shorts, and of one for code made at run time */
#define SN_QUANT_MOST_ROWS 16

typedef struct sn_quant_rows {
  const uint8_t *rows[SN_QUANT_MOST_ROWS]; /* some may be the same */
  sn_block_kind kind;
  int64_t parts; /* of a row */
  void *q;       /* unpacked: shorts or bytes */
  float *scales;
} sn_quant_rows;

/* What rows of x are quantised to. */
typedef enum sn_quant_form {
  SN_QUANT_SHORTS, /* in the order that is said above */
  SN_QUANT_BYTES,  /* in the order of x */
  /* for code made at run time with relaxed SIMD (jit/emit_blocks.c), in the order of x: */
  SN_QUANT_SIGNS /* two bytes a number: those of a part without their sign, then -1 for each negative one, and else 0 */
} sn_quant_form;

/* Bytes of a row of k numbers in a form. */
static inline size_t sn_quant_bytes(sn_quant_form form, int64_t k) {
  return (size_t)k * (form == SN_QUANT_BYTES ? 1 : 2);
}

/* Rows of x in parts; of row i q begins at i * 32 parts, a scale and a total at i * parts. Behind all of it, and behind the
 * bytes, there are SN_QUANT_BEHIND_X bytes more, which are read with the last parts of a row, and count for nothing. */
#define SN_QUANT_BEHIND_X (3 * SN_PART * sizeof(int16_t))
typedef struct sn_quant_x {
  int16_t *q;    /* in shorts, for kernels that read those */
  int8_t *bytes; /* in another form, or NULL */
  float *scales;
  int32_t *totals; /* of the whole numbers of a part; with SN_QUANT_SIGNS of its negative ones */
  bool
      by_halves; /* totals are two of 16 bits, of the first 16 numbers and of the others: Q6_K has a scale for each 16 */
  int64_t rows;
} sn_quant_x;

/* A total by halves. */
static inline int32_t sn_quant_halves(int32_t first, int32_t second) {
  return (int32_t)((uint32_t)second << 16 | (uint16_t)first);
}
static inline int32_t sn_quant_first_half(int32_t halves) { return (int16_t)halves; }
static inline int32_t sn_quant_second_half(int32_t halves) { return halves >> 16; }

/* The zero that code made at run time counts the numbers of a kind from, as a power of 2; 0: they are as they are. It is that
 * of the kind, and 128 of bytes of Q8_0, which then have no sign. */
static inline int sn_quant_zero_bits(sn_block_kind kind, sn_quant_form form) {
  if (kind == SN_BLOCK_Q8_0) return form == SN_QUANT_BYTES ? 7 : 0;
  return sn_block_layouts[kind].zero == 16 ? 4 : sn_block_layouts[kind].zero == 8 ? 3 : 0;
}

/* The kernels of an instruction set. All of them give the same bits. */
typedef struct sn_quant_kernels {
  int rows;   /* of a tile */
  int scales; /* floats that each row of a tile has for a part, at least 2 */
  sn_quant_form
      form; /* of x that the products below read, and of the numbers of a tile: shorts or bytes */

  /* Quantises parts [from, to) of x, of all rows one after the other: into `form` of these kernels, and into another one for
   * code made at run time, which only kernels that read shorts have beside them. */
  void (*take)(sn_quant_form form, const float *x, int64_t from, int64_t to, const sn_quant_x *out);

  /* Makes a tile. */
  void (*unpack)(const sn_quant_rows *w);
  /* The numbers of all parts of a row. */
  void (*numbers)(sn_block_kind kind, const uint8_t *row, int64_t parts, float *out);

  /* Numbers [w, w + width) of rows [p, p + k), `bytes` each, as panels of a product (pack.h) one behind the other. */
  void (*pack)(sn_block_kind kind, const uint8_t *rows, int64_t bytes, int64_t w, int64_t width,
               int64_t p, int64_t k, int panel, float *panels);

  /* out[i * stride + r] = row i of x times row r, for r < width: of rows as they are, or NULL where only code made at run
   * time has that; and of a tile. */
  void (*multiply)(const sn_quant_rows *w, const sn_quant_x *x, float *out, int64_t stride,
                   int64_t width);
  void (*multiply_unpacked)(const sn_quant_rows *w, const sn_quant_x *x, float *out, int64_t stride,
                            int64_t width);
} sn_quant_kernels;

const sn_quant_kernels *sn_quant_kernels_for(sn_isa_id isa);

/* Rearranges a tile of SN_QUANT_ROWS rows in shorts for code made at run time, as bytes or as shorts. Numbers of Q6_K do not
 * fit into bytes: they are multiplied by the scales of 16. */
void sn_quant_arrange(sn_quant_form form, const sn_quant_rows *w);

extern const sn_quant_kernels sn_quant_simd128, sn_quant_neon, sn_quant_dotprod, sn_quant_generic,
    sn_quant_sse2, sn_quant_avx2, sn_quant_vnni;

#endif
