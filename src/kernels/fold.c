#include "kernels/fold.h"

#include <string.h>

_Static_assert((SN_STRIP << (SN_FOLD_LEVELS - 1)) == SN_FOLD_BLOCK, "levels of a block's counter");

sn_fold_plan sn_fold_plan_for(const sn_strips *strips, sn_op op, sn_dtype dtype) {
  return (sn_fold_plan){.order = sn_fold_order_of(dtype),
                        .fold = strips->fold[op][dtype],
                        .collapse = strips->collapse[op][dtype],
                        .combine = strips->combine[op][dtype],
                        .identity = sn_reduce_identity(op, dtype),
                        .dtype = dtype,
                        .item_bytes = sn_strip_bytes(dtype)};
}

void sn_counter_push(sn_counter *c, const void *items) {
  const void *from = items;
  char *level = c->levels;
  for (uint64_t bits = c->count++; bits & 1; bits >>= 1) {
    c->plan->combine(level, level, from, from, c->width, false);
    from = level;
    level += c->level_bytes;
  }
  if (from != level) memcpy(level, from, (size_t)c->width * c->plan->item_bytes);
}

void sn_counter_finish(sn_counter *c, void *out) {
  sn_strip_fill(c->plan->dtype, out, c->plan->identity, c->width);
  const char *level = c->levels;
  for (uint64_t bits = c->count; bits; bits >>= 1, level += c->level_bytes)
    if (bits & 1) c->plan->combine(out, level, out, out, c->width, false);
}

void sn_block_begin(sn_block_fold *f, const sn_fold_plan *plan, void *scratch) {
  f->lanes = scratch;
  f->counter = (sn_counter){.plan = plan,
                            .levels = (char *)scratch + SN_FOLD_BYTES,
                            .level_bytes = SN_FOLD_BYTES,
                            .width = plan->order.lanes};
}

void sn_block_strip(sn_block_fold *f, const void *strip, int64_t n) {
  f->counter.plan->fold(f->lanes, strip, n);
  sn_counter_push(&f->counter, f->lanes);
}

void sn_block_end(sn_block_fold *f, void *item) {
  if (f->counter.count != 1)
    sn_counter_finish(&f->counter, f->lanes); /* one strip: lanes has all */
  f->counter.plan->collapse(item, f->lanes);
}
