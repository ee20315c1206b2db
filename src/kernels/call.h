/* call.h - kernels of the ops that move or scan elements along one axis: gather, scatter, sort,
 * cumulative sums, and a concat of many.
 *
 * A line is the elements along the axis at one point of the space. If the axis is not the innermost
 * dimension, `inner` neighbouring lines are walked together, so that memory is read in its order:
 *
 *              across: inner lines                 unit: lines [l, l + lines) of one point, or
 *            +---+---+---+---+                           some points with one line each;
 *   along    | 0 | 1 | 2 | 3 |  <- position 0            of a long gather, scatter or concat some
 * positions the axis | 4 | 5 | 6 | 7 |  <- position 1
 *            +---+---+---+---+
 *
 * How work is cut follows from sizes and strides alone, and no unit reads what another writes. */
#ifndef SN_KERNELS_CALL_H
#define SN_KERNELS_CALL_H

#include "fuse/group.h"
#include "kernels/quant_rows.h"

typedef struct sn_call_plan {
  int64_t points;        /* of the space, without the inner lines */
  int64_t inner;         /* lines of a point; 1 if the axis is innermost */
  int64_t unit;          /* points of a unit */
  int64_t lines, blocks; /* lines of a unit; units that the lines of a point make */
  int64_t share, shares; /* positions of a unit; units that the positions of a line make */
  size_t scratch_bytes;  /* of a sort, for one line */
  bool shared_scratch;   /* scratch lies in shared memory, per line, and not in worker memory */
} sn_call_plan;

/* The plan of a call over quantised blocks: kernel_blocks.c. */
typedef struct sn_blocks_plan {
  const sn_quant_kernels *kernels;
  sn_blocks_shape shape;
  bool few;   /* x has few rows: blocks are multiplied as they are read */
  bool tiles; /* x has more rows, and code made at run time multiplies tiles */
  bool
      twos; /* code made at run time sums two products in 16 bits, as the machine does: emit_blocks.c */
  sn_quant_form form; /* of x for code made at run time, or that of `kernels` where there is none */
  int64_t unit;       /* rows of blocks of a unit */
  /* in shared memory: scales of x, behind its numbers; its bytes, the first ones if `kernels` read bytes */
  size_t scales_offset, bytes_offset;
  size_t unpacked_scales_offset; /* of a tile, in worker memory behind its numbers */
} sn_blocks_plan;

/* Lines of one operand: element i of line k lies at data + (i * along + k * across) elements. */
typedef struct sn_lines {
  char *data;
  int64_t along, across;
  int64_t n; /* elements of a line */
} sn_lines;

/* One unit's work: `width` lines of every operand. */
typedef struct sn_call_site {
  const sn_call *call;
  sn_lines in[SN_MAX_ARITY], out;
  sn_dtype dtype; /* of in[0] */
  int64_t width;
  int64_t from, to; /* positions: of a gather and a concat those it writes, of a scatter those of
                       the result */
  void *scratch;
} sn_call_site;

void sn_gather_lines(const sn_call_site *site);
void sn_scatter_lines(const sn_call_site *site);
void sn_scan_lines(const sn_call_site *site);
void sn_sort_line(const sn_call_site *site); /* a site of width 1 */

/* Copies `width` lines of n elements of a dtype. */
void sn_copy_lines(sn_dtype dtype, const sn_lines *from, const sn_lines *to, int64_t n,
                   int64_t width);

#define SN_SCAN_WIDTH 256 /* lines that a scan walks together at most */

/* Scratch that a sort takes per element: two entries. */
static inline size_t sn_sort_entry_bytes(void) { return 2 * sizeof(uint64_t); }

#endif
