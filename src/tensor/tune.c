#include "tensor/tune.h"

#include <math.h>
#include <string.h>

#include "base/host.h"
#include "tensor/tuned.h"

/* WARM_RUNS runs of a form do not count, as engines need some to make code quick. Then RUNS of each form are measured; a
 * hopeless trial ends after FIRST_RUNS. */
enum { WARM_RUNS = 4, RUNS = 12, CHECK_RUNS = SN_TIMES, FIRST_RUNS = 3 };
static const double SLICE_MS = 2;
/* A trial is taken if its time is below WORTH times that of the best form, and given up if it is HOPELESS times as slow after
 * FIRST_RUNS. At the end the best form has to stay within CHECK_WORTH of the plain one. */
static const double WORTH = 0.985, CHECK_WORTH = 0.99, HOPELESS = 1.25;

typedef enum phase { COMPILING, WARMING, MEASURING, CHECKING, DONE } phase;

struct sn_tuner {
  sn_context *ctx;
  sn_compile_options options;
  sn_compiled *plain, *best, *tried; /* retained; best may be plain, tried NULL */
  sn_tuning tuning;                  /* of best */
  uint32_t best_hash;                /* hash of best's kernels (hash_of) */
  int knob, factor;                  /* under trial: `tried` is best with this factor of this knob */
  phase phase;
  uint32_t turn;
  sn_tuning_report report;
};

/* ---- times ----------------------------------------------------------------------------------- */

static uint32_t count(const sn_times *t) { return t->n < SN_TIMES ? t->n : SN_TIMES; }

/* The mean of the quicker half of the times: other work of the machine makes runs slower, never quicker. */
static double time_of(const sn_times *t) {
  const uint32_t n = count(t), half = (n + 1) / 2;
  float sorted[SN_TIMES] = {0};
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    for (; at > 0 && sorted[at - 1] > t->ms[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = t->ms[i];
  }
  for (uint32_t i = 0; i < half; i++) sum += sorted[i];
  return n ? sum / half : INFINITY;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static uint32_t hash_bytes(uint32_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
  return hash;
}

/* A hash of the engines and texts of all kernels; 0 if memory runs out. */
static uint32_t hash_of(const sn_compiled *c) {
  const sn_executable *exe = c->exe;
  sn_arena arena;
  sn_kernel_view *views;
  uint32_t hash = 0;
  sn_arena_init(&arena, exe->program->arena.env);
  if (!sn_arena_alloc(&arena, exe->n_kernels, sizeof *views, (void **)&views) &&
      !exe->backend->views(&arena, exe, views)) {
    hash = 2166136261u;
    for (size_t k = 0; k < exe->n_kernels; k++)
      hash = hash_bytes(hash_bytes(hash, views[k].engine), views[k].text);
  }
  sn_arena_free(&arena);
  return hash;
}

static bool code_is_coming(const sn_tuner *t) {
  const sn_backend *code = t->tried->exe->backend;
  return code->code_coming && code->code_coming(&t->ctx->device);
}

static void drop_trial(sn_tuner *t) {
  sn_compiled_release(t->ctx, t->tried);
  t->tried = NULL;
}

/* ---- the order of trials --------------------------------------------------------------------- */

static void begin_check(sn_tuner *t) {
  t->phase = t->best == t->plain ? DONE : CHECKING;
  t->best->times.n = t->plain->times.n = 0;
}

/* Goes on to the next factor of a knob that may be changed here; to knob SN_KNOBS if there is none. */
static void next_factor(sn_tuner *t) {
  do {
    if (++t->factor <= sn_knobs[t->knob].n_factors) continue;
    t->factor = 1;
    t->knob++;
  } while (t->knob < SN_KNOBS && sn_knobs[t->knob].stored && sn_keeps_excess(&t->options));
}

/* Begins to compile the form with the next factor. If that fails at once, the next call goes on with the one after it. */
static void begin_trial(sn_tuner *t) {
  next_factor(t);
  t->phase = COMPILING;
  if (t->knob == SN_KNOBS) {
    begin_check(t);
    return;
  }
  sn_compile_options options = t->options;
  options.tuning = t->tuning;
  options.tuning.factor[t->knob] = (uint8_t)t->factor;
  options.donate = t->plain->donate;
  if (sn_compile_begin(t->ctx, &t->plain->key, &options, &t->tried)) t->tried = NULL;
}

static void end_trial(sn_tuner *t, sn_trial_outcome how) {
  sn_trial *row = &t->report.trials[t->knob][t->factor - 1];
  row->outcome = (uint8_t)how;
  if (how == SN_TRIAL_TAKEN) {
    if (t->best != t->plain) sn_compiled_release(t->ctx, t->best);
    t->best = t->tried;
    t->best_hash = hash_of(t->best);
    t->tuning.factor[t->knob] = (uint8_t)t->factor;
    t->tried = NULL;
  } else if (t->tried) {
    drop_trial(t);
  }
  begin_trial(t);
}

static void compile_slice(sn_tuner *t) {
  if (!t->tried || sn_compile_continue(t->ctx, t->tried, sn_host_now_ms() + SLICE_MS)) {
    end_trial(t, SN_TRIAL_REFUSED);
    return;
  }
  if (!t->tried->exe) return;
  if (sn_knobs[t->knob].shown && hash_of(t->tried) == t->best_hash) {
    end_trial(t, SN_TRIAL_SAME);
    return;
  }
  t->phase = WARMING;
  t->tried->times.n = 0;
}

static void warm(sn_tuner *t) {
  if (t->tried->times.n < WARM_RUNS || code_is_coming(t)) return;
  t->phase = MEASURING;
  t->tried->times.n = t->best->times.n = 0;
}

static void measure(sn_tuner *t) {
  const sn_times *tried = &t->tried->times, *best = &t->best->times;
  const uint32_t n = tried->n < best->n ? tried->n : best->n;
  if (n < FIRST_RUNS) return;
  const double ms = time_of(tried), best_ms = time_of(best);
  if (n < RUNS && ms < best_ms * HOPELESS) return;
  sn_trial *row = &t->report.trials[t->knob][t->factor - 1];
  row->measured = true;
  row->ms = (float)ms;
  row->best_ms = (float)best_ms;
  end_trial(t, ms < best_ms * WORTH ? SN_TRIAL_TAKEN : SN_TRIAL_LOST);
}

/* The best form has to be quicker than the plain one again; else plain is chosen. */
static void check(sn_tuner *t) {
  if (t->best->times.n < CHECK_RUNS || t->plain->times.n < CHECK_RUNS) return;
  const double ms = time_of(&t->best->times), plain_ms = time_of(&t->plain->times);
  t->report.checked = true;
  t->report.ms = (float)ms;
  t->report.plain_ms = (float)plain_ms;
  if (ms >= plain_ms * CHECK_WORTH) {
    sn_compiled_release(t->ctx, t->best);
    t->best = t->plain;
    t->tuning = (sn_tuning){{0}};
  }
  t->phase = DONE;
}

/* ---- for programs ---------------------------------------------------------------------------- */

sn_status sn_tuner_new(sn_context *ctx, sn_compiled *plain, const sn_compile_options *options,
                       sn_tuner **out) {
  sn_tuner *t;
  *out = NULL;
  if (ctx->device.backend != &sn_cpu_backend) return SN_OK;
  SN_TRY(sn_alloc_zeroed(&ctx->env, 1, sizeof *t, (void **)&t));
  *t = (sn_tuner){.ctx = ctx, .options = *options, .plain = plain, .best = plain};
  plain->refs++;
  t->best_hash = hash_of(plain);
  begin_trial(t);
  *out = t;
  return SN_OK;
}

sn_compiled *sn_tuner_end(sn_tuner *t) {
  sn_compiled *best = t->best;
  if (best != t->plain) sn_compiled_release(t->ctx, t->plain);
  t->best = t->plain = NULL;
  return best;
}

void sn_tuner_free(sn_tuner *t) {
  if (!t) return;
  if (t->tried) drop_trial(t);
  if (t->best) sn_compiled_release(t->ctx, sn_tuner_end(t));
  sn_free(&t->ctx->env, t, sizeof *t);
}

sn_compiled *sn_tuner_pick(sn_tuner *t) {
  switch (t->phase) {
    case WARMING: return t->tried->times.n < WARM_RUNS ? t->tried : t->best;
    case MEASURING: return ++t->turn % 2 ? t->tried : t->best;
    case CHECKING: return ++t->turn % 2 ? t->plain : t->best;
    default: return t->best;
  }
}

bool sn_tuner_advance(sn_tuner *t) {
  switch (t->phase) {
    case COMPILING: compile_slice(t); break;
    case WARMING: warm(t); break;
    case MEASURING: measure(t); break;
    case CHECKING: check(t); break;
    case DONE: return true;
  }
  if (t->phase != DONE) return false;
  sn_tuned_keep(t->ctx, t->plain, &t->tuning, &t->report);
  return true;
}

void sn_tuner_json(const sn_tuner *t, sn_text *text) {
  sn_tuning_report_json(&t->report, &t->tuning, t->phase == DONE, text);
}
