#include "processes.h"

#include <pthread.h>

typedef struct meeting {
  pthread_barrier_t barrier;
  const void *given[MOST_RANKS];
  int ranks;
} meeting;

typedef struct member {
  meeting *all;
  saved_step saved;
  bool (*body)(process *p);
  process process;
} member;

float sum_in_pairs(const float *x, int n, int step) {
  float sums[16] = {0};
  for (int i = 0; i < n; i++) sums[i] = x[i * step];
  for (; n > 1; n = (n + 1) / 2)
    for (int i = 0; i < n; i += 2) sums[i / 2] = i + 1 < n ? sums[i] + sums[i + 1] : sums[i];
  return sums[0];
}

/* Floats are summed; what is only gathered may be of any dtype. */
static void bring(const member *m, const sn_exchange *x) {
  const int ranks = m->all->ranks, rank = m->process.rank;
  const size_t bytes = x->count * sn_dtype_bytes(x->dtype);
  const size_t part = x->count / (size_t)ranks, own = part * (size_t)rank;
  if (x->kind == SN_EXCHANGE_ALL_GATHER) {
    for (int r = 0; r < ranks; r++)
      memcpy((char *)x->to + (size_t)r * bytes, m->all->given[r], bytes);
    return;
  }
  for (size_t i = 0; i < x->count; i++) {
    float of[MOST_RANKS], *to = x->to;
    for (int r = 0; r < ranks; r++) of[r] = ((const float *)m->all->given[r])[i];
    const float sum = sum_in_pairs(of, ranks, 1);
    if (x->kind == SN_EXCHANGE_ALL_REDUCE) to[i] = sum;
    if (x->kind == SN_EXCHANGE_REDUCE_SCATTER && i >= own && i < own + part) to[i - own] = sum;
  }
}

static sn_status start(void *user, const sn_exchange *x, uint64_t *ticket) {
  member *m = user;
  if (x->kind != SN_EXCHANGE_ALL_GATHER && x->dtype != SN_F32) return SN_ERR_UNSUPPORTED;
  m->all->given[m->process.rank] = x->from;
  pthread_barrier_wait(&m->all->barrier);
  bring(m, x);
  pthread_barrier_wait(&m->all->barrier);
  m->process.exchanged.given[x->kind] += x->count;
  *ticket = ++m->process.exchanged.started;
  return SN_OK;
}

static sn_status finish(void *user, uint64_t ticket) {
  exchanged *e = &((member *)user)->process.exchanged;
  if (ticket > e->finished) e->finished = ticket;
  return SN_OK;
}

bool run_step(process *p) {
  const sn_step_info *info = sn_step_describe(p->step);
  if (sn_program_run(p->step, p->inputs, p->results)) return false;
  for (size_t i = 0; i < info->n_state; i++) {
    sn_release(p->inputs[i]);
    p->inputs[i] = p->results[info->n_others + 1 + i];
  }
  return true;
}

static void *live(void *user) {
  member *m = user;
  process *p = &m->process;
  const sn_processes processes = {.ranks = p->ranks,
                                  .rank = p->rank,
                                  .split_state = m->saved.split_state,
                                  .user = m,
                                  .start = start,
                                  .finish = finish};
  const sn_options options = {.threads = 1, .deterministic = true, .processes = &processes};
  if (sn_context_create(&options, &p->ctx)) return NULL;
  if (sn_step_load(p->ctx, m->saved.bytes, m->saved.size, &p->step)) return NULL;
  const sn_step_info *info = sn_step_describe(p->step);
  const size_t n_inputs = info->n_state + info->n_rates + info->n_batch;
  p->inputs = calloc(n_inputs, sizeof *p->inputs);
  p->results = calloc(info->n_others + 1 + info->n_state, sizeof *p->results);
  if (sn_step_init(p->step, p->inputs) || !m->body(p)) return NULL;
  for (size_t i = 0; i < n_inputs; i++) sn_release(p->inputs[i]);
  sn_program_release(p->step);
  sn_context_destroy(p->ctx);
  free(p->inputs);
  free(p->results);
  return m;
}

void in_processes(int ranks, saved_step step, bool (*body)(process *p), void *const *users) {
  meeting all = {.ranks = ranks};
  pthread_t threads[MOST_RANKS];
  member members[MOST_RANKS];
  assert_int_equal(pthread_barrier_init(&all.barrier, NULL, (unsigned)ranks), 0);
  for (int r = 0; r < ranks; r++) {
    const process p = {.ranks = ranks, .rank = r, .user = users ? users[r] : NULL};
    members[r] = (member){.all = &all, .saved = step, .body = body, .process = p};
    assert_int_equal(pthread_create(&threads[r], NULL, live, &members[r]), 0);
  }
  for (int r = 0; r < ranks; r++) {
    void *ended;
    assert_int_equal(pthread_join(threads[r], &ended), 0);
    assert_non_null(ended);
  }
  pthread_barrier_destroy(&all.barrier);
}
