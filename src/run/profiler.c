#include "run/profiler.h"

#include <string.h>

enum { EXTRA_LISTS = 2 }; /* of spans, beside the workers': runs, compiles */

sn_status sn_profiler_start(sn_profiler *p, sn_env *env, int workers, size_t max_spans) {
  sn_profiler_free(p);
  const uint32_t session = p->session + 1;
  *p = (sn_profiler){.session = session, .n_workers = workers};
  sn_arena_init(&p->arena, env);
  p->spans_per_worker = max_spans / (size_t)workers + 1;
  const size_t n_lists = (size_t)(workers + EXTRA_LISTS);
  sn_status status = sn_arena_alloc(&p->arena, n_lists, sizeof *p->workers, (void **)&p->workers);
  for (size_t l = 0; l < n_lists && !status; l++)
    status = sn_arena_alloc(&p->arena, p->spans_per_worker, sizeof(sn_span),
                            (void **)&p->workers[l].spans);
  if (!status)
    status = sn_arena_alloc(&p->arena, p->spans_per_worker * n_lists, sizeof(sn_span),
                            (void **)&p->merged);
  if (status) sn_profiler_free(p);
  p->on = !status;
  return status;
}

void sn_profiler_free(sn_profiler *p) {
  p->on = false;
  if (p->arena.env) sn_arena_free(&p->arena);
  *p = (sn_profiler){.session = p->session};
}

void sn_profiler_stop(sn_profiler *p) {
  if (!p->on) return;
  p->on = false;
  p->n_merged = p->lost = 0;
  for (int l = 0; l < p->n_workers + EXTRA_LISTS; l++) {
    memcpy(p->merged + p->n_merged, p->workers[l].spans, p->workers[l].used * sizeof *p->merged);
    p->n_merged += p->workers[l].used;
    p->lost += p->workers[l].lost;
  }
}

sn_status sn_profiler_register(sn_profiler *p, const char *name, const char *kind, uint32_t *row) {
  for (size_t i = 0; i < p->n_kernels; i++)
    if (!strcmp(p->kernels[i].name, name) && !strcmp(p->kernels[i].kind, kind)) {
      *row = (uint32_t)i;
      return SN_OK;
    }
  SN_TRY(sn_arena_grow(&p->arena, (void **)&p->kernels, &p->cap_kernels, p->n_kernels,
                       sizeof *p->kernels));
  sn_kernel_profile *k = &p->kernels[p->n_kernels];
  *k = (sn_kernel_profile){.kind = kind};
  SN_TRY(sn_arena_text(&p->arena, name, &k->name));
  *row = (uint32_t)p->n_kernels++;
  return SN_OK;
}

static void append(const sn_profiler *p, sn_worker_spans *l, sn_span span) {
  if (l->used == p->spans_per_worker)
    l->lost++;
  else
    l->spans[l->used++] = span;
}

void sn_profiler_interval(sn_profiler *p, uint32_t what, double begin, double end) {
  append(p, &p->workers[p->n_workers + (what == SN_SPAN_COMPILE)],
         (sn_span){.begin_ms = begin, .end_ms = end, .kernel = what});
}

void sn_profiler_span(sn_profiler *p, int worker, uint32_t row, uint32_t step, double begin,
                      double end) {
  sn_worker_spans *l = &p->workers[worker];
  if (l->used && l->dispatch == p->dispatch) {
    l->spans[l->used - 1].end_ms = end;
    return;
  }
  append(p, l, (sn_span){begin, end, row, (uint32_t)worker, step});
  if (!l->lost) l->dispatch = p->dispatch; /* a lost span is not joined to the last one kept */
}
