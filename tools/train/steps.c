#include "steps.h"

#include <errno.h>
#include <string.h>

#include "files.h"
#include "group.h"
#include "stop.h"

/* ---- reading --------------------------------------------------------------------------------- */

static sn_context *open_context(const options *o, int threads, bool deterministic) {
  const sn_options wanted = {.threads = threads,
                             .deterministic = deterministic,
                             .isa = o->isa,
                             .processes = group_processes(o->split_state)};
  sn_context *ctx;
  const sn_status status = sn_context_create(&wanted, &ctx);
  if (status == SN_ERR_ARGUMENT)
    stop(EXIT_USAGE, "--isa is %s, which this machine does not have", o->isa);
  if (status) stop(EXIT_TRAINING, "no context");
  return ctx;
}

static step load(sn_context *ctx, const char *path) {
  step s = {.path = path};
  file_view file;
  if (!file_map(path, &file)) stop(EXIT_INPUT, "cannot read %s: %s", path, strerror(errno));
  if (sn_step_load(ctx, file.bytes, file.size, &s.program)) stop_for(EXIT_INPUT, path, ctx);
  s.info = sn_step_describe(s.program);
  s.hash = checksum(file.bytes, file.size, 0);
  file_unmap(file);
  return s;
}

/* ---- two of one step ------------------------------------------------------------------------- */

static bool is_alike(const sn_step_input *a, const sn_step_input *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->parts == b->parts &&
         !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) && !strcmp(a->path, b->path);
}

static void check_alike(const step *whole, const step *last) {
  const sn_step_info *a = whole->info, *b = last->info;
  const size_t n = a->n_state + a->n_rates;
  bool alike = a->n_state == b->n_state && a->n_rates == b->n_rates && a->n_batch == b->n_batch &&
               a->precision == b->precision;
  for (size_t i = 0; alike && i < n; i++) alike = is_alike(&a->inputs[i], &b->inputs[i]);
  if (!alike)
    stop(EXIT_INPUT, "%s has another state than %s: --last takes the same step for fewer rows",
         last->path, whole->path);
  if (a->deterministic != b->deterministic)
    stop(EXIT_INPUT, "of %s and %s one alone was exported with deterministic: true", last->path,
         whole->path);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The file tells the numeric mode, and a context has one for its life. */
steps steps_open(const options *o, int threads) {
  steps s = {.ctx = open_context(o, threads, true)};
  s.whole = load(s.ctx, o->step);
  if (!s.whole.info->deterministic) {
    steps_close(&s);
    s.ctx = open_context(o, threads, false);
    s.whole = load(s.ctx, o->step);
  }
  if (o->last) {
    s.last = load(s.ctx, o->last);
    check_alike(&s.whole, &s.last);
  }
  return s;
}

void steps_close(steps *s) {
  sn_program_release(s->whole.program);
  sn_program_release(s->last.program);
  sn_context_destroy(s->ctx);
}
