#include "target/target.h"

static int64_t blocks_of(int64_t rows, int64_t block) { return (rows + block - 1) / block; }

int64_t sn_target_row_points(const sn_target *target, int64_t rows) {
  const sn_target_costs *c = &target->costs;
  return c->many_rows && rows >= c->many_rows ? c->long_row_points : c->row_points;
}

/* As many rows as stay in cache, but not too few, as each block walks through the whole right sides
 * of its products; and fewer if workers would have no work otherwise. */
int64_t sn_target_block_rows(const sn_target *target, int64_t batch, int64_t rows,
                             int64_t row_bytes, int64_t n_values) {
  const sn_target_costs *c = &target->costs;
  const sn_target_limits *l = &target->limits;
  const int64_t unit = c->row_unit;
  const int64_t room = (l->local_bytes - n_values * (int64_t)l->alignment) / row_bytes;
  if (room < 1) return 0;
  int64_t block = (int64_t)c->block_bytes / row_bytes / unit * unit;
  if (block < c->block_rows) block = c->block_rows;
  while (block > c->least_rows && batch * blocks_of(rows, block) < c->tasks) block -= unit;
  if (block > room) block = room / unit * unit;
  return block < rows ? block : rows <= room ? rows : 0;
}

/* If there are few results, tiles with whole sums would be small, and small tiles pack each factor
 * many times. Sums stay whole if there are nearly as many rows as terms: such a left side may come
 * from a chain, block of rows by block of rows. */
int64_t sn_target_sum_segments(const sn_target *target, int64_t results, int64_t rows,
                               int64_t terms) {
  enum { TERMS_TO_ROWS = 4 };
  const sn_target_costs *c = &target->costs;
  const double work = (double)results * (double)terms;
  int64_t segments = terms / c->segment_terms;
  if (results > c->segment_results || terms < TERMS_TO_ROWS * rows) return 1;
  if (segments > c->most_segments) segments = c->most_segments;
  if (work < c->segment_work * (double)segments) segments = (int64_t)(work / c->segment_work);
  return segments > 1 ? segments : 1;
}
