/* quant_blocks.h - numbers in quantised blocks, as in files of llama.cpp: a block is a few bytes for 32 or 256 numbers of
 * a row, which share scales. Blocks of all kinds are read in parts of 32 numbers:
 *
 *   number j of a part = scale * q[j] + min
 *
 * q are integers of at most 14 bits. Q6_K has an 8-bit scale for each 16 numbers, by which its q are already multiplied.
 * Except for Q6_K, scale * q is exact in float32, so each number is rounded once.
 *
 * A product quantises x in parts of 32 as well: 8-bit integers and a scale. The sum of products over a part is an exact
 * integer. The result for part p is added in float32 to sum p % 4, which starts at +0, in the order of the parts; the
 * product is (sum 0 + sum 1) + (sum 2 + sum 3). So every implementation gives the same bits, whatever its order within a
 * part. */
#ifndef SN_GRAPH_QUANT_BLOCKS_H
#define SN_GRAPH_QUANT_BLOCKS_H

#include "graph/shape.h"

#define SN_PART 32     /* numbers of a part */
#define SN_PART_SUMS 4 /* partial sums of a product */

typedef struct sn_block_layout {
  const char *name;
  uint16_t numbers, bytes; /* of a block */
  bool has_min;            /* else min is -0, which changes no number when added */
  /* Byte offsets in a block of the low bits of its numbers, and of their upper bits if these are stored apart, else 0; and,
   * for blocks of 32 numbers, the stored value that means 0. */
  uint8_t low, high, zero;
} sn_block_layout;

/* In the header, so that code for one kind sees them as compile-time constants. */
static const sn_block_layout sn_block_layouts[] = {
    [SN_BLOCK_Q4_0] = {"Q4_0", 32, 18, false, 2, 0, 8},
    [SN_BLOCK_Q4_1] = {"Q4_1", 32, 20, true, 4, 0, 0},
    [SN_BLOCK_Q5_0] = {"Q5_0", 32, 22, false, 6, 2, 16},
    [SN_BLOCK_Q5_1] = {"Q5_1", 32, 24, true, 8, 4, 0},
    [SN_BLOCK_Q8_0] = {"Q8_0", 32, 34, false, 2, 0, 0},
    [SN_BLOCK_Q4_K] = {"Q4_K", 256, 144, true, 16, 0, 0},
    [SN_BLOCK_Q5_K] = {"Q5_K", 256, 176, true, 48, 16, 0},
    [SN_BLOCK_Q6_K] = {"Q6_K", 256, 210, false, 0, 128, 0},
};

#define SN_BLOCK_KINDS (sizeof sn_block_layouts / sizeof *sn_block_layouts)

/* NULL for an unknown kind. */
static inline const sn_block_layout *sn_block_layout_of(int64_t kind) {
  return kind >= 0 && kind < (int64_t)SN_BLOCK_KINDS ? &sn_block_layouts[kind] : NULL;
}

typedef struct sn_block_part {
  int16_t q[SN_PART];
  float scale, min;
} sn_block_part;

/* Unpacks part number `part` of a block. */
void sn_block_unpack(sn_block_kind kind, const uint8_t *block, int64_t part, sn_block_part *out);

/* Returns the scale of 32 numbers of x, and sets *steps to the factor that makes them 8-bit integers when rounded to
 * nearest even. most: the bits of the largest |x|. If that is below 2^-100, both are 0. If a number is not finite, its bits
 * are larger than those of all finite ones: then the scale is NaN and *steps is 0, so the integers are 0. */
float sn_part_scale(uint32_t most, float *steps);

/* Quantises 32 numbers of x: sets q, |q| <= 127, and *total to the sum of q; returns the scale. */
float sn_quantize_part(const float *x, int16_t q[SN_PART], int32_t *total);

/* What one part of a row and one of x add to a product. dot: the sum of the products of their q; x_total: the sum of the
 * q of x. */
static inline float sn_part_product(bool has_min, int32_t dot, float scale, float min,
                                    float x_scale, int32_t x_total) {
  const float product = (float)dot * (scale * x_scale);
  return has_min ? product + min * (x_scale * (float)x_total) : product;
}

/* Sizes of a product x (b..., m..., k) times rows (b..., n, bytes), or x (b..., m..., n) times the rows' numbers. batch and
 * rows: the products of all b and of all m. bytes: of a row. */
typedef struct sn_blocks_shape {
  int64_t batch, rows, n, k, bytes;
} sn_blocks_shape;

sn_blocks_shape sn_blocks_shape_of(sn_block_kind kind, const sn_type *x, const sn_type *bytes);

#endif
