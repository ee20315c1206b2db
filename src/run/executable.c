#include "run/executable.h"

#include <math.h>

#include "base/host.h"
#include "run/exchange.h"
#include "run/poison.h"

/* An interruptible run reads the clock after about so many nanoseconds of work. */
#define NS_PER_LOOK 250000.0

size_t sn_executable_workspace_bytes(const sn_executable *exe, int workers) {
  return exe->workers_offset + exe->worker_stride * (size_t)workers;
}

static sn_status register_regions(const sn_control_step *step, sn_profiler *profiler) {
  for (uint32_t r = 0; step && r < step->n_regions; r++)
    SN_TRY(sn_executable_register(step->regions[r], profiler));
  return SN_OK;
}

sn_status sn_executable_register(sn_executable *exe, sn_profiler *profiler) {
  if (exe->profile_session == profiler->session) return SN_OK;
  for (size_t i = 0; i < exe->n_kernels; i++) {
    const sn_group *group = &exe->program->groups.groups[i];
    SN_TRY(sn_profiler_register(profiler, group->name, sn_group_kind_name(group),
                                &exe->profile_rows[i]));
    SN_TRY(register_regions(exe->controls[i], profiler));
  }
  exe->profile_session = profiler->session;
  return SN_OK;
}

/* ---- operands that stay packed --------------------------------------------------------------- */

/* Allocates room for an operand that is met again. If the allocation fails, there is no second try. */
static void make_room(sn_env *env, sn_kernel *kernel) {
  sn_gemm *gemm = &kernel->product->gemm;
  sn_gemm_side *b = sn_gemm_side_b(gemm);
  if (b->kept || b->bytes > (env->heap.limit_bytes - env->heap.live_bytes) / 4) return;
  kernel->packed.wanted = !sn_alloc(env, b->bytes, &b->kept);
  if (env->poison && b->kept) sn_poison(b->kept, b->bytes);
  kernel->packed.version = 0;
  sn_kernel_keep_packed(kernel);
}

void sn_executable_keep(sn_executable *exe, const uint64_t *versions) {
  for (size_t k = 0; k < exe->n_kernels; k++) {
    sn_packed *p = &exe->kernels[k].packed;
    if (!p->wanted) continue;
    const uint64_t version = versions[p->argument];
    if (p->met == version) make_room(exe->program->arena.env, &exe->kernels[k]);
    p->met = version;
  }
}

bool sn_executable_forget(sn_executable *exe) {
  bool any = false;
  for (size_t k = 0; k < exe->n_kernels; k++) {
    sn_product_plan *product = exe->kernels[k].product;
    sn_gemm_side *b = product ? sn_gemm_side_b(&product->gemm) : NULL;
    if (!b || !b->kept) continue;
    sn_free(exe->program->arena.env, b->kept, b->bytes);
    b->kept = NULL;
    any = true;
  }
  return any;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct timed_run {
  sn_kernel_run run;
  sn_profiler *profiler;
  uint32_t row, step;
} timed_run;

static void timed_units(void *arg, int64_t begin, int64_t end, int worker) {
  timed_run *t = arg;
  const double start = sn_host_now_ms();
  sn_kernel_units(&t->run, begin, end, worker);
  sn_profiler_span(t->profiler, worker, t->row, t->step, start, sn_host_now_ms());
}

static const sn_target_costs *costs_of(const sn_executable *exe) {
  return &exe->program->groups.target->costs;
}

/* How many units a chunk has. Small chunks spread the work better; from costs.chunk_ns on, handing them out costs nothing. */
static int64_t grain_for(const sn_executable *exe, const sn_stage *stage, int workers) {
  if (workers == 1) return stage->units;
  const int64_t chunks = (int64_t)workers * SN_CHUNKS_PER_WORKER;
  const int64_t most = (stage->units + chunks - 1) / chunks;
  const double wanted = costs_of(exe)->chunk_ns / stage->unit_cost;
  return wanted >= (double)most ? most : wanted > 1 ? (int64_t)wanted : 1;
}

static void bind_values(const sn_run *run) {
  const sn_executable *exe = run->exe;
  for (size_t v = 0; v < exe->program->plan.n_values; v++) {
    const sn_handle *at = &exe->program->handles[v];
    exe->values[v] = at->buffer == SN_NONE ? NULL : (char *)run->buffers[at->buffer] + at->offset;
  }
}

/* Fills the values that kernel k is the first to write, and its scratch memory (poison.h). It scans
 * all values for each kernel: this is for tests. Fresh outputs are new storages, which are filled
 * already. */
static void poison_kernel(const sn_run *run, size_t k) {
  const sn_executable *exe = run->exe;
  const sn_plan *plan = &exe->program->plan;
  for (uint32_t v = 0; v < plan->n_values; v++) {
    const sn_place *place = &plan->places[v];
    const bool may_be_stale = place->kind == SN_PLACE_ARENA || place->kind == SN_PLACE_DONATED;
    if (place->first == k && may_be_stale && !sn_plan_takes_over(plan, v))
      sn_poison(exe->values[v], sn_type_bytes(&exe->program->groups.values[v].type));
  }
  const sn_kernel *kernel = &exe->kernels[k];
  sn_poison(run->shared, kernel->shared_bytes);
  for (int worker = 0; worker < sn_pool_max_workers(run->pool); worker++)
    sn_poison(run->workers + run->worker_stride * (size_t)worker, kernel->worker_bytes);
}

/* One call of sn_executable_step. */
typedef struct walk {
  sn_run *run;
  double until; /* INFINITY: never interrupted, so stages run whole, on all workers */
} walk;

bool sn_run_time_over(sn_run_place *place, double until, double worth) {
  place->unclocked += worth;
  if (until == INFINITY || place->unclocked < NS_PER_LOOK) return false;
  place->unclocked = 0;
  return sn_host_now_ms() >= until;
}

static bool time_over(const walk *w, double worth) {
  return sn_run_time_over(&w->run->place, w->until, worth);
}

/* Runs the units of a stage from the place's on, in parts; false: interrupted. */
static bool run_parts(const walk *w, const sn_stage *stage, sn_pool_fn *fn, void *arg) {
  const double wanted = NS_PER_LOOK / stage->unit_cost;
  const int64_t grain = wanted >= (double)stage->units ? stage->units
                        : wanted > 1                   ? (int64_t)wanted
                                                       : 1;
  int64_t *unit = &w->run->place.unit;
  while (*unit < stage->units) {
    const int64_t end = stage->units - *unit > grain ? *unit + grain : stage->units;
    const double worth = stage->unit_cost * (double)(end - *unit);
    fn(arg, *unit, end, 0);
    *unit = end;
    if (end == stage->units)
      w->run->place.unclocked += worth; /* the caller reads the clock */
    else if (time_over(w, worth))
      return false;
  }
  *unit = 0;
  return true;
}

/* The fields that are the same for the units of all kernels. */
static sn_kernel_run units_of(const sn_run *run) {
  return (sn_kernel_run){.values = run->exe->values,
                         .shared = run->shared,
                         .workers = run->workers,
                         .worker_stride = run->worker_stride};
}

/* Runs a stage of the kernel under way or of a member; false: interrupted. */
static bool run_stage(const walk *w, const sn_kernel *kernel, int stage, sn_status *status) {
  const sn_run *run = w->run;
  const sn_executable *exe = run->exe;
  const sn_stage *s = &kernel->stages[stage];
  timed_run t = {.run = units_of(run)};
  t.run.kernel = kernel;
  t.run.stage = stage;
  sn_pool_fn *fn = sn_kernel_units;
  void *arg = &t.run;
  if (run->profiler && run->profiler->on) {
    t.profiler = run->profiler;
    t.step = (uint32_t)w->run->place.kernel;
    t.row = exe->profile_rows[t.step];
    run->profiler->dispatch++;
    fn = timed_units;
    arg = &t;
  }
  if (w->until != INFINITY) return run_parts(w, s, fn, arg);
  const double worth = s->unit_cost * (double)s->units;
  const int workers = sn_workers_for(costs_of(exe), worth, sn_pool_workers(run->pool));
  if (workers > w->run->place.workers) w->run->place.workers = workers;
  *status = sn_pool_run(run->pool, fn, arg, s->units, grain_for(exe, s, workers), workers);
  return true;
}

/* Whether this worker can call the code made for the kernel, which may not be ready yet. */
static bool calls_code_of(const sn_kernel *kernel) {
  const sn_gemm_run_time *gemm = kernel->gemm_run_time;
  if (kernel->group->kind == SN_GROUP_CONTRACTION) return gemm && gemm->ready(gemm->module);
  for (uint32_t m = 0; m < kernel->n_members; m++)
    if (calls_code_of(&kernel->members[m])) return true;
  return sn_code_ready(&kernel->code);
}

static bool calls_code(const sn_executable *exe, size_t k) {
  const sn_control_step *control = exe->controls[k];
  return control ? control->code && control->ready(control->module)
                 : calls_code_of(&exe->kernels[k]);
}

static void record(const sn_run *run, size_t k, double ms, int workers) {
  const sn_executable *exe = run->exe;
  const sn_group *group = &exe->program->groups.groups[k];
  if (run->debug >= SN_LOG_TIMES)
    sn_log_printf("%-40s %9.4f ms %8.2f GFLOP/s %8.2f GB/s %d threads\n", group->name, ms,
                  ms > 0 ? group->flops / ms * 1e-6 : 0, ms > 0 ? group->bytes / ms * 1e-6 : 0,
                  workers);
  if (!run->profiler || !run->profiler->on) return;
  sn_kernel_profile *row = &run->profiler->kernels[exe->profile_rows[k]];
  row->ms += ms;
  row->flops += group->flops;
  row->bytes += group->bytes;
  row->engine = sn_kernel_engine(&exe->kernels[k], calls_code(exe, k));
  row->calls++;
  if ((uint32_t)workers > row->threads) row->threads = (uint32_t)workers;
}

/* Runs control flow from the place on. Its stage is 1 once it has begun. */
static bool run_control(const walk *w, sn_control_step *step, sn_status *status) {
  int *stage = &w->run->place.stage;
  const bool begins = *stage == 0;
  *stage = 1;
  const bool done = step->run(step, w->run, begins, w->until, status);
  if (done) w->run->place.unclocked += step->unclocked;
  return done;
}

/* Runs the kernel's stages from the place's on; false: interrupted. */
static bool run_stages(const walk *w, const sn_kernel *kernel, sn_status *status) {
  int *stage = &w->run->place.stage;
  for (; *stage <= kernel->n_stages; ++*stage) {
    const bool first = *stage == 0;
    if (first ? !kernel->prologue : !kernel->stages[*stage - 1].units) continue;
    if (!run_stage(w, first ? kernel->prologue : kernel, first ? 0 : *stage - 1, status))
      return false;
    if (*status) return true;
  }
  return true;
}

static uint64_t packed_version(const walk *w, const sn_packed *packed) {
  return packed->wanted ? w->run->versions[packed->argument] : 0;
}

static void begin_packed(const walk *w, sn_kernel *kernel) {
  sn_packed *packed = &kernel->packed;
  if (kernel->product) {
    sn_gemm_side *b = sn_gemm_side_b(&kernel->product->gemm);
    b->ready = b->kept && packed->version == packed_version(w, packed);
  }
  packed->version = 0; /* set again when the kernel has ended well */
}

static void begin_kernel(const walk *w) {
  sn_run *run = w->run;
  const size_t k = run->place.kernel;
  begin_packed(w, &run->exe->kernels[k]);
  if (run->poison && k == 0) sn_poison(sn_run_workspace(run), run->exe->program->plan.arena_bytes);
  if (run->poison) poison_kernel(run, k);
  if (run->watch && !run->exe->controls[k])
    sn_watch_before(run->watch, run->exe->program, k, run->exe->values);
  run->place.workers = 1;
  run->place.ms = 0;
}

/* Runs the kernel at the place, which then moves on; false: interrupted. */
static bool run_kernel(const walk *w, sn_status *status) {
  const sn_run *run = w->run;
  sn_run_place *place = &w->run->place;
  sn_kernel *kernel = &run->exe->kernels[place->kernel];
  sn_exchanges *exchanges = run->exe->exchanges;
  if (exchanges && (*status = sn_exchange_before(exchanges, run->processes, place->kernel)))
    return true;
  if (place->stage == 0 && place->unit == 0) begin_kernel(w);
  const bool timed = run->debug >= SN_LOG_TIMES || (run->profiler && run->profiler->on);
  const double start = timed ? sn_host_now_ms() : 0;
  sn_control_step *control = run->exe->controls[place->kernel];
  const bool ended = control ? run_control(w, control, status) : run_stages(w, kernel, status);
  if (ended && !*status && exchanges)
    *status = sn_exchange_start(exchanges, run->processes, run->exe->values, place->kernel);
  if (timed) place->ms += sn_host_now_ms() - start;
  if (!ended || *status) return ended;
  kernel->packed.version = packed_version(w, &kernel->packed);
  if (run->watch && !control) sn_watch_after(run->watch, run->exe->values);
  if (timed) record(run, place->kernel, place->ms, place->workers);
  place->kernel++;
  place->stage = 0;
  return true;
}

/* Whether kernels may run in waves: single kernels are not observed, and the run is not interrupted. */
static bool runs_waves(const walk *w) {
  const sn_run *run = w->run;
  const bool is_watched = run->poison || run->watch || run->debug >= SN_LOG_TIMES ||
                          (run->profiler && run->profiler->on);
  return w->until == INFINITY && !is_watched && !run->exe->exchanges &&
         sn_pool_workers(run->pool) > 1;
}

static bool begins_wave(const sn_run *run) {
  const sn_run_place *place = &run->place;
  return run->exe->waves.lengths[place->kernel] > 1 && place->stage == 0 && place->unit == 0;
}

/* Runs the wave at the place, which then moves on. */
static void run_wave(const walk *w, sn_status *status) {
  sn_executable *exe = w->run->exe;
  const size_t k = w->run->place.kernel, n = exe->waves.lengths[k];
  for (size_t i = k; i < k + n; i++) begin_packed(w, &exe->kernels[i]);
  const sn_kernel_run base = units_of(w->run);
  *status = sn_wave_run(&exe->waves, exe->kernels, k, &base, costs_of(exe), w->run->pool);
  if (*status) return;
  for (size_t i = k; i < k + n; i++)
    exe->kernels[i].packed.version = packed_version(w, &exe->kernels[i].packed);
  w->run->place.kernel += n;
}

bool sn_executable_step(sn_run *run, double until, sn_status *status) {
  const size_t n = run->exe->n_kernels;
  const bool profiled = run->profiler && run->profiler->on;
  const bool timed = profiled || run->clocked;
  const double begin = timed ? sn_host_now_ms() : 0;
  const walk w = {.run = run, .until = until};
  *status = sn_pool_lost(run->pool);
  if (!run->workers) {
    run->shared = sn_run_workspace(run) + run->exe->shared_offset;
    run->workers = sn_run_workspace(run) + run->exe->workers_offset;
    run->worker_stride = run->exe->worker_stride;
  }
  bind_values(run);
  bool going = !*status && run->place.kernel < n, interrupted = false;
  const bool in_waves = runs_waves(&w);
  while (going) {
    if (in_waves && begins_wave(run))
      run_wave(&w, status);
    else
      interrupted = !run_kernel(&w, status);
    going = !interrupted && !*status && run->place.kernel < n;
    if (going && time_over(&w, 0)) {
      interrupted = true;
      going = false;
    }
  }
  if (!interrupted && !*status && run->exe->exchanges)
    *status = sn_exchange_before(run->exe->exchanges, run->processes, run->exe->n_kernels);
  const double end = timed ? sn_host_now_ms() : 0;
  run->ms += end - begin;
  if (profiled && !*status) sn_profiler_interval(run->profiler, SN_SPAN_RUN, begin, end);
  return !interrupted;
}
