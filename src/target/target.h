/* target.h - the machine that programs are made for. Passes, fuse and plan ask it, and know nothing
 * else about a machine:
 *
 *   limits   no kernel of a program goes beyond them
 *   costs    what is worth doing: other numbers give other kernels, never wrong ones
 *   mode     which bits floats have
 *
 * How a group is run - in which blocks, strips, tiles, tasks - is its backend's own business. The
 * functions at the end answer what fuse has to know beforehand, so that both get the same
 * answer. */
#ifndef SN_TARGET_TARGET_H
#define SN_TARGET_TARGET_H

#include "base/env.h"

#define SN_NO_LIMIT UINT32_MAX

typedef struct sn_target_limits {
  uint32_t dtypes; /* that it has, a bit 1 << sn_dtype each; a program of another is refused */
  uint32_t nodes;  /* of a kernel over many points */
  uint32_t scalar_nodes; /* of one over a single point, which is straight-line code */
  uint32_t operands;     /* that a kernel's nodes load, but over a single point */
  uint32_t buffers;      /* that a kernel reads and writes, or SN_NO_LIMIT */
  int64_t local_bytes; /* memory of a task's own: rows that are kept, what a chain hands on; or 0 */
  int64_t tile_rows;   /* of a task, where chains go through tiles of their columns; or 0 */
  size_t store_bytes;  /* of the smallest store: smaller elements go to memory by whole buffers */
  size_t alignment;    /* bytes, of each buffer */
} sn_target_limits;

/* How products are cut. None of these numbers changes a bit. */
typedef struct sn_product_costs {
  int64_t left_bytes;  /* of the packed left block of a tile, that should stay in cache */
  int64_t right_bytes; /* of a row of a tile */
  int64_t depth;       /* terms that are packed at a time, as whole sums */
  int64_t flatness;    /* columns per row of a tile where both sides are packed beforehand */
  double task_flops;   /* that outweigh a task's dispatch and the packing that it does not share */
  double shared_task_flops; /* where it shares all of it */
  double direct_task_flops; /* where nothing is packed */
} sn_product_costs;

typedef struct sn_target_costs {
  int64_t tiny_product; /* multiply-adds up to which products have other bits than larger ones */
  int64_t row_points;   /* of a row that stays in the first cache between its phases, at most */
  int64_t many_rows;    /* so many rows may be longer, as each has a workgroup of its own; or 0 */
  int64_t long_row_points;
  uint32_t copies;      /* of concat's inputs by a kernel each, at most */
  int64_t pad_run;      /* elements in a run, and in a row of runs, that pay for reading a pad */
  int64_t pad_row;      /* where it is not made */
  int64_t gathered_row; /* points of a scatter's rows that pay for gathering their sums */
  int64_t lookup_row;   /* elements of a gather's rows that pay for looking up where it is read */
  int64_t prologue_points; /* of a map that is little beside a product */
  int64_t added_terms;  /* of a sum whose terms lie together: up to so many are added one by one */
  double product_terms; /* multiply-adds that outweigh one more product and its result in parts */
  int64_t scalar_elements; /* of a value: up to so many, scalars are quicker than vectors */
  /* work against memory, in flops per element */
  uint32_t again_flops; /* up to so many, a second kernel makes a value again: it is not read */
  uint32_t kept_flops;  /* up to so many, a later phase of a row makes it again: it is not kept */
  uint32_t
      load_flops;    /* from so many on, a value is worth a place in memory, or in a loop's stack */
  double byte_flops; /* that take as long as moving a byte from memory or to it */
  double argument_flops; /* in all: from so many on, it is worth one more argument of a run */
  double kernel_flops; /* that beginning a kernel is worth: in loops less is written out instead */
  /* products made again for uses far apart */
  size_t remade_bytes;  /* at least */
  int64_t remade_terms; /* of a sum, at most */
  /* chains: what they keep out of memory pays from here on */
  size_t chain_bytes;
  int64_t chain_points; /* of a map or rows that begin one */
  /* blocks of rows */
  size_t block_bytes; /* that stay in cache, beside what each block walks through */
  int64_t block_rows; /* that make up for walking through it */
  int64_t least_rows; /* where blocks would be too few else */
  int64_t row_unit;   /* blocks have a multiple of it */
  int64_t tasks;      /* wanted, and at least, to occupy all workers */
  int64_t least_tasks;
  /* segments of long sums with few results */
  int64_t segment_terms, segment_results, most_segments;
  double segment_work; /* multiply-adds that are worth a task */
  sn_product_costs product;
  /* work for many, in nanoseconds by the costs of ops; no bit depends on it */
  double worker_ns; /* that is worth one more worker */
  double chunk_ns;  /* from so much on, a chunk costs nothing to hand out */
} sn_target_costs;

typedef struct sn_target {
  const char *name;
  sn_target_limits limits;
  sn_target_costs costs;
  bool deterministic; /* products never fuse multiply-adds */
  bool fused;         /* functions of float32 have the fused bits (math/expand_f32.inc) */
} sn_target;

/* Points that each of so many rows has at most. */
int64_t sn_target_row_points(const sn_target *target, int64_t rows);

/* Rows of a block that has n_values in the task's own memory, row_bytes of a row; 0: it does not
 * fit. */
int64_t sn_target_block_rows(const sn_target *target, int64_t batch, int64_t rows,
                             int64_t row_bytes, int64_t n_values);

/* In how many segments a product's sums of `terms` are best taken apart; rows: of each of its
 * matrices. */
int64_t sn_target_sum_segments(const sn_target *target, int64_t results, int64_t rows,
                               int64_t terms);

#endif
