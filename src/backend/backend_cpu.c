/* backend_cpu.c - strips, library kernels and threads: programs run on the pool, or in the background
 * on its driver. */
#include "backend/backend_cpu.h"

#include <math.h>

#include "base/size.h"
#include "base/text.h"
#include "jit/listing.h"
#include "run/exchange.h"
#include "run/rounds.h"

/* ---- compiling ------------------------------------------------------------------------------- */

/* A product's B can stay packed from run to run only if it is an argument of the program. */
static void find_packed(const sn_program_code *program, const sn_group *group, sn_packed *packed) {
  if (!packed->wanted) return;
  const sn_value *b = &program->groups.values[group->contraction.factors[1].value];
  packed->wanted = b->kind == SN_VALUE_ARGUMENT;
  packed->argument = b->argument;
}

/* Compiles the regions of a step for the same device. Their shared memory is part of the step's. */
static sn_status make_control(const sn_device *device, sn_executable *exe, size_t i) {
  const sn_step *step = &exe->program->steps[i];
  sn_arena *arena = &exe->program->arena;
  sn_executable *regions[SN_MAX_REGIONS] = {NULL};
  for (int r = 0; r < SN_MAX_REGIONS && step->regions[r]; r++)
    SN_TRY(sn_cpu_compile(device, step->regions[r], &regions[r]));
  SN_TRY(sn_control_make(arena, exe->program, step, regions, &exe->controls[i]));
  exe->kernels[i].shared_bytes = exe->controls[i]->shared_bytes;
  exe->kernels[i].worker_bytes = exe->controls[i]->worker_bytes;
  return SN_OK;
}

static sn_status make_kernels(const sn_device *device, sn_arena *arena, sn_executable *exe) {
  const sn_program_code *program = exe->program;
  sn_machine machine = device->machine;
  machine.target = program->groups.target; /* the program's own: its costs may differ */
  for (size_t i = 0; i < program->n_steps; i++) {
    const sn_step *step = &program->steps[i];
    const sn_group *group = &program->groups.groups[step->group];
    SN_TRY(sn_kernel_make(arena, &machine, group, &exe->kernels[i]));
    if (step->kind == SN_STEP_CONTROL) SN_TRY(make_control(device, exe, i));
    if (step->kind == SN_STEP_KERNEL) find_packed(program, group, &exe->kernels[i].packed);
  }
  exe->n_kernels = program->n_steps;
  return sn_exchanges_make(arena, program, &exe->exchanges);
}

/* The workspace: the arena, then the memory that all workers share, then each worker's own. */
static sn_status lay_out(sn_env *env, sn_executable *exe) {
  size_t shared = exe->waves.bytes, worker = 0;
  for (size_t i = 0; i < exe->n_kernels; i++)
    if (exe->kernels[i].worker_bytes > worker) worker = exe->kernels[i].worker_bytes;
  exe->shared_offset = exe->program->plan.arena_bytes;
  SN_CHECK(env, sn_size_round_up(shared, 64, &shared) && sn_size_round_up(worker, 64, &worker));
  SN_FAIL_IF(env, sn_size_add_overflows(exe->shared_offset, shared, &exe->workers_offset),
             SN_ERR_MEMORY, "plan", "intermediates are too large: %zu bytes and %zu more",
             exe->shared_offset, shared);
  exe->worker_stride = worker;
  return SN_OK;
}

sn_status sn_cpu_compile(const sn_device *device, sn_program_code *program, sn_executable **out) {
  sn_arena *arena = &program->arena;
  const size_t n = program->n_steps;
  sn_executable *exe;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *exe, (void **)&exe));
  *exe = (sn_executable){.program = program, .backend = &sn_cpu_backend};
  SN_TRY(sn_arena_alloc(arena, n, sizeof *exe->kernels, (void **)&exe->kernels));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *exe->profile_rows, (void **)&exe->profile_rows));
  SN_TRY(sn_arena_alloc(arena, program->plan.n_values, sizeof *exe->values, (void **)&exe->values));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *exe->controls, (void **)&exe->controls));
  SN_TRY(make_kernels(device, arena, exe));
  SN_TRY(sn_waves_find(arena, program, exe->kernels, &exe->waves));
  SN_TRY(lay_out(device->env, exe));
  *out = exe;
  return SN_OK;
}

sn_status sn_cpu_compile_with(const sn_device *device, sn_program_code *program,
                              sn_status (*hang_in)(const sn_device *, sn_executable *),
                              void (*drop)(sn_executable *), sn_executable **out) {
  sn_executable *exe;
  SN_TRY(sn_cpu_compile(device, program, &exe));
  const sn_status status = hang_in(device, exe);
  if (status)
    drop(exe);
  else
    *out = exe;
  return status;
}

void sn_cpu_release(sn_executable *exe) { sn_executable_forget(exe); }

sn_status sn_cpu_views(sn_arena *arena, const sn_executable *exe, sn_kernel_view *out) {
  for (size_t k = 0; k < exe->n_kernels; k++) {
    sn_text text = sn_text_in(arena);
    sn_kernel_print(&text, k, &exe->kernels[k]);
    SN_TRY(text.status);
    out[k] =
        (sn_kernel_view){.engine = sn_kernel_engine(&exe->kernels[k], true), .text = text.data};
  }
  return SN_OK;
}

sn_status sn_cpu_listing(sn_arena *arena, const sn_executable *exe, size_t k, const char **out) {
  return sn_jit_listing(arena, exe->program->groups.target->fused, &exe->kernels[k], out);
}

/* ---- memory: the host's ---------------------------------------------------------------------- */

sn_status sn_cpu_allocate(sn_device *device, size_t bytes, void **out) {
  return sn_alloc(device->env, bytes, out);
}

void sn_cpu_deallocate(sn_device *device, void *memory, size_t bytes) {
  sn_free(device->env, memory, bytes);
}

void *sn_cpu_map(sn_device *device, void *memory) {
  (void)device;
  return memory;
}

void sn_cpu_copy(sn_device *device, void *to, const void *from, size_t bytes) {
  (void)device;
  if (bytes) memcpy(to, from, bytes);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The driver's job. */
static bool execute(void *run, double until, sn_status *status) {
  return sn_executable_step(run, until, status);
}

static void prepare(sn_device *device, sn_run *run) {
  run->pool = device->pool;
  if (!sn_pool_lost(run->pool)) return;
  sn_driver_wait_all(run->pool);
  sn_pool_revive(run->pool); /* jobs under way are completed as failed */
}

sn_status sn_cpu_run(sn_device *device, sn_run *run) {
  sn_status status;
  prepare(device, run);
  sn_executable_step(run, INFINITY, &status);
  return status;
}

bool sn_cpu_queues(const sn_device *device) { return sn_driver_available(device->pool); }

sn_status sn_cpu_submit(sn_device *device, sn_run *run, uint32_t *ticket) {
  prepare(device, run);
  return sn_driver_submit(device->env, device->pool, execute, run, ticket);
}

bool sn_cpu_poll(const sn_device *device, uint32_t ticket, sn_status *status) {
  if ((int32_t)(sn_driver_completed(device->pool) - ticket) < 0) return false;
  if (status) *status = sn_driver_status(device->pool, ticket);
  return true;
}

void sn_cpu_wait(sn_device *device, uint32_t ticket) {
  if (sn_cpu_poll(device, ticket, NULL)) return;
  if (sn_driver_wait(device->pool, ticket)) sn_pool_revive(device->pool);
}

const sn_backend sn_cpu_backend = {.name = "cpu",
                                   .compile = sn_cpu_compile,
                                   .release = sn_cpu_release,
                                   .listing = sn_cpu_listing,
                                   SN_CPU_ALL_BUT_CODE};
