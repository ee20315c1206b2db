/* target.h - the machine that programs are made for. It is all that passes, fuse and plan know about
 * a machine:
 *
 *   limits   no kernel of a program goes beyond them
 *   costs    what is worth doing: other numbers give other kernels, never wrong ones
 *   mode     which bits floats have
 *
 * How a group is run - in which blocks, strips, tiles, tasks - its backend decides. The functions at
 * the end decide what fuse has to know beforehand, so that fuse and backend get the same answer. */
#ifndef SN_TARGET_TARGET_H
#define SN_TARGET_TARGET_H

#include "base/env.h"

#define SN_NO_LIMIT UINT32_MAX

typedef struct sn_target_limits {
  uint32_t dtypes;       /* the dtypes it has, a bit (1 << sn_dtype) each; others are refused */
  uint32_t nodes;        /* most nodes of a kernel over many points */
  uint32_t scalar_nodes; /* of a kernel over a single point, which is straight-line code */
  uint32_t operands;     /* most loads of a kernel; not limited over a single point */
  uint32_t buffers;      /* most buffers that a kernel reads and writes, or SN_NO_LIMIT */
  int64_t local_bytes;   /* a task's own memory, for kept rows and a chain's local values; or 0 */
  int64_t tile_rows;     /* rows of a task, if chains go through tiles of columns; or 0 */
  size_t store_bytes; /* of the smallest store: smaller elements are stored as whole buffers only */
  size_t alignment;   /* of each buffer, in bytes */
} sn_target_limits;

/* How products are cut. None of these numbers changes a bit. */
typedef struct sn_product_costs {
  int64_t left_bytes;  /* most bytes of a tile's packed left block, which should stay in cache */
  int64_t right_bytes; /* most bytes of a row of a tile */
  int64_t depth;       /* most terms that are packed at a time, as whole sums */
  int64_t flatness;    /* columns per row of a tile where both sides are packed beforehand */
  double task_flops;   /* of a task that pay for its dispatch and the packing it does not share */
  double shared_task_flops; /* the same where it shares all packing */
  double direct_task_flops; /* the same where nothing is packed */
} sn_product_costs;

typedef struct sn_target_costs {
  int64_t tiny_product; /* multiply-adds up to which products have other bits than larger ones */
  int64_t row_points;   /* most points of a row that stays in the first cache between its phases */
  int64_t many_rows;    /* from so many rows on, each has a workgroup of its own; or 0 */
  int64_t long_row_points; /* most points of each of so many rows */
  uint32_t copies;         /* up to so many inputs of a concat are copied by a kernel each */
  int64_t pad_run;         /* least elements of a run along k, if packing pads a product's factor */
  int64_t pad_row;         /* and of a row of such runs */
  int64_t gathered_row;    /* least points of a scatter's rows for which their sums are gathered */
  int64_t lookup_row; /* least elements of a gather's rows that its readers look up themselves */
  int64_t prologue_points; /* most points of a map that runs as a product's prologue */
  int64_t added_terms;     /* of a sum: up to so many adjacent terms are added one by one */
  double product_terms; /* multiply-adds that outweigh one more product and its result in parts */
  int64_t scalar_elements; /* of a value: up to so many, scalars are quicker than vectors */
  /* work against memory, in flops per element */
  uint32_t again_flops; /* up to so many, other kernels make a value again instead of reading it */
  uint32_t kept_flops;  /* up to so many, a later phase of a row makes it again: it is not kept */
  uint32_t load_flops;  /* from so many on, a value is worth memory, or a place on a loop's stack */
  double byte_flops;    /* flops that take as long as moving a byte from or to memory */
  double argument_flops; /* in all: from so many on, a value is worth one more argument of a run */
  double kernel_flops;   /* worth of beginning a kernel: loops with less work become one function */
  /* products that are made again because their uses are far apart */
  size_t remade_bytes;  /* least bytes of the result */
  int64_t remade_terms; /* most terms of a sum */
  /* chains */
  size_t chain_bytes;   /* least bytes that one has to keep out of memory */
  int64_t chain_points; /* least points of a map or row group with which one begins */
  /* blocks of rows of a chain */
  size_t block_bytes;  /* of a block's values that stay in cache beside what it walks through */
  int64_t block_rows;  /* least rows that make up for walking through it */
  int64_t least_rows;  /* a block shrinks down to so many where blocks would be too few otherwise */
  int64_t row_unit;    /* a block has a multiple of so many rows */
  int64_t tasks;       /* blocks that are wanted to occupy all workers */
  int64_t least_tasks; /* fewest blocks of a chain */
  /* segments of long sums with few results */
  int64_t segment_terms, segment_results, most_segments; /* least terms, most results, most */
  double segment_work;                                   /* multiply-adds that are worth a task */
  sn_product_costs product;
  /* work for many, in nanoseconds by the costs of ops; no bit depends on it */
  double worker_ns; /* work that pays for one more worker */
  double chunk_ns;  /* work of a chunk beside which handing it out costs nothing */
} sn_target_costs;

typedef struct sn_target {
  const char *name;
  sn_target_limits limits;
  sn_target_costs costs;
  bool deterministic; /* products never fuse multiply-adds */
  bool fused;         /* functions of float32 have the fused bits (math/expand_f32.inc) */
} sn_target;

/* How many points each of so many rows may have. */
int64_t sn_target_row_points(const sn_target *target, int64_t rows);

/* How many rows a block has if n_values lie in the task's own memory, which take row_bytes per row;
 * 0: not even one row fits. */
int64_t sn_target_block_rows(const sn_target *target, int64_t batch, int64_t rows,
                             int64_t row_bytes, int64_t n_values);

/* Into how many segments a product's sums of so many terms are best cut (split-k); rows: of each of
 * its matrices. */
int64_t sn_target_sum_segments(const sn_target *target, int64_t results, int64_t rows,
                               int64_t terms);

#endif
