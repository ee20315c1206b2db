#include "run/watch.h"

#include "fuse/group_visit.h"

typedef struct looking {
  sn_watch *watch;
  void *const *values;
  bool written;
} looking;

static void see(sn_range_seen *seen, double x) {
  if (x != x) {
    seen->nans++;
  } else if (x - x != 0) {
    seen->infinities++;
  } else {
    if (x < seen->least) seen->least = x;
    if (x > seen->most) seen->most = x;
  }
}

/* Finds the range of value v; false if it has no memory or another dtype. */
static bool range_of(const looking *l, uint32_t v, sn_range_seen *out) {
  const sn_type *type = &l->watch->program->groups.values[v].type;
  const void *at = l->values[v];
  if (!at || (type->dtype != SN_F32 && type->dtype != SN_F64)) return false;
  *out = (sn_range_seen){.value = v, .least = 1, .most = 0};
  const int64_t n = sn_type_size(type);
  bool first = true;
  for (int64_t i = 0; i < n; i++) {
    const double x =
        type->dtype == SN_F32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
    if (first && x - x == 0) {
      out->least = out->most = x;
      first = false;
    }
    see(out, x);
  }
  return true;
}

static sn_status look(void *user, const sn_touch *touch) {
  const looking *l = user;
  sn_watch *w = l->watch;
  const uint32_t v = touch->operand->value;
  sn_range_seen range;
  if (v == SN_NONE || sn_touch_writes(touch) != l->written || w->found || !range_of(l, v, &range))
    return SN_OK;
  if (l->written) {
    w->found = range.nans || range.infinities;
    w->written = range;
  } else if (w->n_reads < SN_WATCHED) {
    w->reads[w->n_reads++] = range;
  }
  return SN_OK;
}

void sn_watch_before(sn_watch *w, const sn_program_code *program, size_t k, void *const *values) {
  if (w->found) return;
  w->program = program;
  w->kernel = k;
  w->n_reads = 0;
  (void)sn_group_visit(&program->groups.groups[k], look, &(looking){w, values, false});
}

void sn_watch_after(sn_watch *w, void *const *values) {
  if (w->found) return;
  (void)sn_group_visit(&w->program->groups.groups[w->kernel], look, &(looking){w, values, true});
}
