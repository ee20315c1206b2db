#include "run/waves.h"

#include "fuse/fuse.h"

/* Most bytes of shared memory of all kernels of a wave; a kernel that has more is a wave of its own. */
#define SHARED_BYTES (256 * 1024)

/* ---- finding them ---------------------------------------------------------------------------- */

typedef struct finder {
  const sn_program_code *program;
  const sn_kernel *kernels;
  sn_waves *out;
  sn_value_set set; /* of the kernel at hand */
  /* values that the wave's kernels touch, kernel by kernel, the written ones of each first */
  uint32_t *values;
  size_t n_values;
  size_t ends[SN_WAVE_MOST], writes_end[SN_WAVE_MOST];
} finder;

static bool may_join(const finder *f, size_t k) {
  const sn_step_kind kind = f->program->steps[k].kind;
  return kind == SN_STEP_KERNEL || kind == SN_STEP_CALL;
}

static bool same_memory(const finder *f, uint32_t u, uint32_t v) {
  const sn_handle *a = &f->program->handles[u], *b = &f->program->handles[v];
  if (a->buffer == SN_NONE || a->buffer != b->buffer) return false;
  return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool overlap(const finder *f, const uint32_t *u, size_t n_u, const uint32_t *v, size_t n_v) {
  for (size_t i = 0; i < n_u; i++)
    for (size_t j = 0; j < n_v; j++)
      if (same_memory(f, u[i], v[j])) return true;
  return false;
}

/* Whether kernel k touches nothing that the wave's kernels write, and writes nothing that they touch. */
static bool is_apart(const finder *f, size_t n_kernels, const uint32_t *values, size_t n_writes,
                     size_t n) {
  for (size_t i = 0; i < n_kernels; i++) {
    const size_t begin = i ? f->ends[i - 1] : 0;
    const uint32_t *own = f->values + begin;
    if (overlap(f, own, f->writes_end[i] - begin, values, n) ||
        overlap(f, own, f->ends[i] - begin, values, n_writes))
      return false;
  }
  return true;
}

/* Adds kernel k to the wave, which has n_kernels so far; false if it must not run beside them. */
static bool join(finder *f, size_t n_kernels, size_t k, size_t *shared) {
  const size_t bytes = *shared + sn_align64(f->kernels[k].shared_bytes);
  if (!may_join(f, k) || (n_kernels && bytes > SHARED_BYTES)) return false;
  const sn_group *group = &f->program->groups.groups[f->program->steps[k].group];
  const size_t n_writes = sn_group_buffers(group, 1, &f->set);
  if (!is_apart(f, n_kernels, f->set.ids, n_writes, f->set.n)) return false;
  for (size_t i = 0; i < f->set.n; i++) f->values[f->n_values + i] = f->set.ids[i];
  f->writes_end[n_kernels] = f->n_values + n_writes;
  f->n_values += f->set.n;
  f->ends[n_kernels] = f->n_values;
  f->out->shared[k] = *shared;
  *shared = bytes;
  return true;
}

/* Returns how many kernels are in the wave that begins with kernel k. */
static uint32_t find_wave(finder *f, size_t k, size_t *shared) {
  uint32_t n = 0;
  f->n_values = 0;
  while (n < SN_WAVE_MOST && k + n < f->program->n_steps && join(f, n, k + n, shared)) n++;
  if (n) return n;
  f->out->shared[k] = 0;
  *shared = f->kernels[k].shared_bytes;
  return 1;
}

static sn_status find_waves(finder *f, sn_arena *scratch) {
  const size_t n_values = f->program->groups.n_values;
  SN_TRY(sn_value_set_init(&f->set, scratch, &f->program->groups));
  SN_TRY(sn_arena_alloc(scratch, SN_WAVE_MOST * n_values, sizeof *f->values, (void **)&f->values));
  for (size_t k = 0; k < f->program->n_steps; k += f->out->lengths[k]) {
    size_t bytes = 0;
    f->out->lengths[k] = find_wave(f, k, &bytes);
    if (bytes > f->out->bytes) f->out->bytes = bytes;
  }
  return SN_OK;
}

sn_status sn_waves_find(sn_arena *arena, const sn_program_code *program, const sn_kernel *kernels,
                        sn_waves *out) {
  finder f = {.program = program, .kernels = kernels, .out = out};
  const size_t n = program->n_steps;
  *out = (sn_waves){0};
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->lengths, (void **)&out->lengths));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->shared, (void **)&out->shared));
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = find_waves(&f, &scratch);
  sn_arena_free(&scratch);
  return status;
}

/* ---- running them ---------------------------------------------------------------------------- */

int sn_workers_for(const sn_target_costs *costs, double worth, int available) {
  const double workers = worth / costs->worker_ns;
  if (workers < 2) return 1;
  return workers < available ? (int)workers : available;
}

typedef struct wave {
  sn_kernel_run parts[SN_WAVE_MOST]; /* of the kernels that have this stage */
  int64_t n_units[SN_WAVE_MOST];
  int64_t n_parts, n_slices;
} wave;

/* Where slice s of part i begins. A part with fewer units than slices has them in other slices than its neighbours. */
static int64_t slice_begin(const wave *w, int64_t i, int64_t s) {
  return (w->n_units[i] * s + i * w->n_slices / w->n_parts) / w->n_slices;
}

/* Runs chunks. Their order: within a worker's share, first all slices of part 0, so that it reads that part in one go. */
static void run_chunks(void *arg, int64_t begin, int64_t end, int worker) {
  wave *w = arg;
  for (int64_t c = begin; c < end; c++) {
    const int64_t i = c / SN_CHUNKS_PER_WORKER % w->n_parts;
    const int64_t share = c / SN_CHUNKS_PER_WORKER / w->n_parts;
    const int64_t slice = share * SN_CHUNKS_PER_WORKER + c % SN_CHUNKS_PER_WORKER;
    const int64_t from = slice_begin(w, i, slice), to = slice_begin(w, i, slice + 1);
    if (from < to) sn_kernel_units(&w->parts[i], from, to, worker);
  }
}

/* Stage 0 is the prologue's; the others are the kernel's own. */
static const sn_stage *stage_of(const sn_kernel *kernel, int stage) {
  if (stage == 0) return kernel->prologue ? &kernel->prologue->stages[0] : NULL;
  return stage <= kernel->n_stages ? &kernel->stages[stage - 1] : NULL;
}

/* Adds a kernel's stage to the dispatch; returns its work in nanoseconds. */
static double add_part(wave *w, const sn_kernel *kernel, int stage, const sn_kernel_run *base,
                       size_t shared) {
  const sn_stage *s = stage_of(kernel, stage);
  if (!s || !s->units) return 0;
  sn_kernel_run *part = &w->parts[w->n_parts];
  *part = *base;
  part->kernel = stage ? kernel : kernel->prologue;
  part->stage = stage ? stage - 1 : 0;
  part->shared = (char *)base->shared + shared;
  w->n_units[w->n_parts++] = s->units;
  return s->unit_cost * (double)s->units;
}

static void run_alone(const wave *w) {
  for (int64_t i = 0; i < w->n_parts; i++)
    sn_kernel_units((void *)(uintptr_t)&w->parts[i], 0, w->n_units[i], 0);
}

sn_status sn_wave_run(const sn_waves *waves, const sn_kernel *kernels, size_t k,
                      const sn_kernel_run *base, const sn_target_costs *costs, sn_pool *pool) {
  wave w;
  for (int stage = 0; stage <= SN_MAX_STAGES; stage++) {
    double worth = 0;
    w.n_parts = 0;
    for (size_t i = k; i < k + waves->lengths[k]; i++)
      worth += add_part(&w, &kernels[i], stage, base, waves->shared[i]);
    const int workers = sn_workers_for(costs, worth, sn_pool_workers(pool));
    w.n_slices = workers * SN_CHUNKS_PER_WORKER;
    if (w.n_parts && workers == 1) run_alone(&w);
    if (w.n_parts && workers > 1)
      SN_TRY(sn_pool_run(pool, run_chunks, &w, w.n_slices * w.n_parts, 1, workers));
  }
  return SN_OK;
}
