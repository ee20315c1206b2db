#include "run/rounds.h"

#include <math.h>

#include "base/host.h"
#include "base/size.h"
#include "kernels/kernel.h"
#include "program/rooms.h"

/* A product's B that no round changes: it is packed in the first round, into the step's own memory. */
typedef struct kept_side {
  sn_kernel *kernel; /* of the body */
  size_t offset;
} kept_side;

typedef struct rounds_step {
  sn_control_step base; /* must come first: run_step is given a pointer to it */
  sn_control control;
  const sn_group *group;
  sn_run runs[SN_MAX_REGIONS]; /* per region: its executable, and room for its buffers' addresses */
  sn_room room;
  size_t *bytes;    /* per result: of a carry's buffer, or of a slice of a stacked result */
  size_t *slices;   /* per stack: bytes of a slice */
  uint32_t *stores; /* per result: the group's store, or SN_NONE */
  size_t scratch;   /* offset in shared memory of what the regions' kernels share */
  size_t stacks;    /* offset in shared memory of the stacks of a serial loop's inner loops */
  kept_side *kept;
  uint32_t n_kept;
  uint64_t version;    /* of inputs that no round changes: another one in each run */
  int64_t round;       /* the one under way; of a cond: the branch */
  int64_t calls;       /* how often the body's program or code has run */
  bool testing;        /* of a while_loop: its test is under way; of a scan: its body is */
  void **table;        /* of the serial loop (kernels/serial_loop.h) */
  bool has_code;       /* whether code runs the loop, decided at the beginning of a run */
  const void **inputs; /* per input: its buffer in the run under way */
  const void **now;    /* per carry: where it lies in this round */
} rounds_step;

/* Nanoseconds that a round takes beside its kernels; and that a whole round of scalars takes. */
#define NS_PER_ROUND 50
#define NS_PER_SCALAR_ROUND 1

/* ---- running --------------------------------------------------------------------------------- */

typedef struct rounds {
  const sn_run *run; /* of the program that the step is in */
  rounds_step *s;
  char *room;
  double until;
} rounds;

/* The buffer of result k as a whole; NULL if nobody uses it. */
static char *result_at(const rounds *w, size_t k) {
  const uint32_t store = w->s->stores[k];
  return store == SN_NONE ? NULL : w->run->exe->values[w->s->group->stores[store].target.value];
}

static char *result_or_spare(const rounds *w, size_t k) {
  char *at = result_at(w, k);
  return at ? at : w->room + w->s->room.spares[k];
}

static void set_output(sn_run *region, size_t k, void *at) {
  region->buffers[sn_output_buffer(region->exe->program, k)] = at;
}

/* Drops const, as an argument is only read. */
static void set_argument(sn_run *region, size_t k, const void *at) {
  region->buffers[k] = (void *)(uintptr_t)at;
}

static void begin_region(const rounds *w, sn_run *region) {
  const sn_run *run = w->run;
  region->buffers[sn_arena_buffer(region->exe->program)] = w->room + w->s->room.arena;
  region->pool = run->pool;
  region->profiler = run->profiler;
  region->poison = run->poison;
  region->watch = run->watch;
  region->debug = run->debug;
  region->shared = run->shared + w->s->scratch;
  region->workers = run->workers;
  region->worker_stride = run->worker_stride;
  region->place = (sn_run_place){.unclocked = region->place.unclocked};
  const sn_control *c = &w->s->control;
  const size_t first = c->n_carries + c->n_stacks;
  for (size_t k = first; k < first + c->n_consts; k++)
    set_argument(region, k, w->s->inputs[sn_control_first(c->op) + k]);
}

/* Makes products pack anew: what lies packed is of an earlier run. */
static void begin_kept(const rounds *w) {
  rounds_step *s = w->s;
  if (!s->n_kept) return;
  const sn_control *c = &s->control;
  const size_t first = c->n_carries + c->n_stacks;
  s->version++;
  for (size_t k = first; k < first + c->n_consts; k++) s->runs[0].versions[k] = s->version;
  for (uint32_t i = 0; i < s->n_kept; i++)
    sn_gemm_side_b(&s->kept[i].kernel->product->gemm)->kept = w->run->shared + s->kept[i].offset;
}

static bool is_in_place(const rounds_step *s, size_t k) { return s->group->control.in_place[k]; }

/* Sets where carries begin. Carries that are updated in place are copied, as a program must not write its arguments. */
static void begin_carries(const rounds *w) {
  rounds_step *s = w->s;
  for (size_t k = 0; k < s->control.n_carries; k++) {
    s->now[k] = s->inputs[k];
    if (!is_in_place(s, k)) continue;
    char *result = result_at(w, k), *place = result ? result : w->room + s->room.carries[k];
    if (place != s->inputs[k] && s->bytes[k]) memcpy(place, s->inputs[k], s->bytes[k]);
    s->now[k] = place;
  }
}

/* Binds the carries of this round to the region's arguments, and those of the next to its outputs. */
static void bind_carries(const rounds *w, sn_run *region, bool is_last) {
  rounds_step *s = w->s;
  for (size_t k = 0; k < s->control.n_carries; k++) {
    if (is_in_place(s, k)) {
      set_argument(region, k, s->now[k]);
      continue;
    }
    size_t bytes = sn_align64(s->bytes[k]);
    char *next = w->room + s->room.carries[k] + (s->calls & 1 ? bytes : 0);
    char *result = is_last ? result_at(w, k) : NULL;
    set_argument(region, k, s->now[k]);
    set_output(region, k, result ? result : next);
  }
}

static void carry_on(const sn_run *region, rounds_step *s) {
  for (size_t k = 0; k < s->control.n_carries; k++)
    s->now[k] = region->buffers[sn_output_buffer(region->exe->program, k)];
  s->round++;
  s->calls++;
}

/* Copies the carries to the results after the last round, unless they lie there already. */
static void hand_over_carries(const rounds *w) {
  const rounds_step *s = w->s;
  for (size_t k = 0; k < s->control.n_carries; k++) {
    char *result = result_at(w, k);
    if (result && result != s->now[k] && s->bytes[k]) memcpy(result, s->now[k], s->bytes[k]);
  }
}

static void bind_slices(const rounds *w, sn_run *region) {
  const rounds_step *s = w->s;
  const sn_control *c = &s->control;
  const size_t at = (size_t)(c->reverse ? c->length - 1 - s->round : s->round);
  const size_t first = c->n_carries;
  for (size_t k = 0; k < c->n_stacks; k++)
    set_argument(region, first + k, (const char *)s->inputs[first + k] + at * s->slices[k]);
  for (size_t k = c->n_carries; k < c->n_results; k++) {
    char *stack = result_at(w, k);
    set_output(region, k, stack ? stack + at * s->bytes[k] : w->room + s->room.spares[k]);
  }
}

/* Asked between two rounds: their kernels may be too short to read the clock. */
static bool time_over(const rounds *w, sn_run *body) {
  return sn_run_time_over(&body->place, w->until, NS_PER_ROUND);
}

static bool run_scan(const rounds *w, sn_status *status) {
  rounds_step *s = w->s;
  sn_run *body = &s->runs[0];
  while (s->round < s->control.length) {
    if (!s->testing) {
      begin_region(w, body);
      bind_carries(w, body, s->round == s->control.length - 1);
      bind_slices(w, body);
    }
    s->testing = !sn_executable_step(body, w->until, status);
    if (s->testing) return false;
    if (*status) return true;
    carry_on(body, s);
    if (s->round < s->control.length && time_over(w, body)) return false;
  }
  hand_over_carries(w);
  s->base.unclocked = body->place.unclocked;
  return true;
}

static bool run_while(const rounds *w, sn_status *status) {
  rounds_step *s = w->s;
  sn_run *body = &s->runs[0], *test = &s->runs[1];
  for (;;) {
    if (s->testing) {
      if (test->place.kernel == 0 && test->place.stage == 0 && test->place.unit == 0) {
        begin_region(w, test);
        for (size_t k = 0; k < s->control.n_carries; k++) set_argument(test, k, s->now[k]);
        set_output(test, 0, w->room + s->room.test);
      }
      if (!sn_executable_step(test, w->until, status)) return false;
      if (*status) return true;
      if (!w->room[s->room.test]) break;
      s->testing = false;
      begin_region(w, body);
      bind_carries(w, body, false);
    }
    if (!sn_executable_step(body, w->until, status)) return false;
    if (*status) return true;
    carry_on(body, s);
    s->testing = true;
    test->place = (sn_run_place){0};
    if (time_over(w, body)) return false;
  }
  hand_over_carries(w);
  s->base.unclocked = body->place.unclocked;
  return true;
}

/* ---- loops over tiny programs ---------------------------------------------------------------- */

/* Flops of the rounds between two readings of the clock. */
#define FLOPS_PER_LOOK 250000.0

static int64_t rounds_per_look(const rounds_step *s) {
  const double n = FLOPS_PER_LOOK / sn_serial_round(&s->base.described);
  return n < 1 ? 1 : (int64_t)n;
}

/* Fills the serial loop's table for n rounds from this one on, with the buffers that a region's run would have. */
static void fill_table(const rounds *w, int64_t n) {
  rounds_step *s = w->s;
  const sn_control *c = &s->control;
  sn_run *body = &s->runs[0];
  const size_t n_inputs = sn_serial_inputs(c);
  begin_region(w, body);
  bind_carries(w, body, c->op == SN_OP_scan && s->round + n == c->length);
  if (c->op == SN_OP_scan) bind_slices(w, body);
  memcpy(s->table, body->buffers, n_inputs * sizeof *s->table);
  for (size_t k = 0; k < c->n_results; k++)
    s->table[n_inputs + k] = body->buffers[sn_output_buffer(body->exe->program, k)];
  s->table[sn_serial_test(c)] = w->room + s->room.test;
  s->table[sn_serial_memory(c)] = w->run->shared + s->stacks;
}

/* After n rounds in one call of the code. Carries change between their two buffers from call to call, not each round. */
static void carry_on_by(const rounds *w, int64_t n) {
  rounds_step *s = w->s;
  carry_on(&s->runs[0], s);
  s->round += n - 1;
}

static bool run_serial(const rounds *w) {
  rounds_step *s = w->s;
  const int64_t most = w->until == INFINITY ? INT32_MAX : rounds_per_look(s);
  for (;;) {
    const bool scan = s->control.op == SN_OP_scan;
    int64_t n = scan ? s->control.length - s->round : most;
    if (n > most) n = most;
    if (!n) break;
    fill_table(w, n);
    (*s->base.code)(s->table, (int32_t)n);
    carry_on_by(w, n);
    if (!scan && !w->room[s->room.test]) break;
    if (scan && s->round == s->control.length) break;
    if (w->until != INFINITY && sn_host_now_ms() >= w->until) return false;
  }
  hand_over_carries(w);
  s->base.unclocked = NS_PER_SCALAR_ROUND * (double)s->round;
  return true;
}

static bool run_cond(const rounds *w, bool begins, sn_status *status) {
  rounds_step *s = w->s;
  if (begins) s->round = !*(const char *)s->inputs[0];
  sn_run *branch = &s->runs[s->round];
  if (begins) {
    begin_region(w, branch);
    for (size_t k = 0; k < s->control.n_results; k++) set_output(branch, k, result_or_spare(w, k));
  }
  if (!sn_executable_step(branch, w->until, status)) return false;
  s->base.unclocked = branch->place.unclocked;
  return true;
}

static bool run_step(sn_control_step *step, const sn_run *run, bool begins, double until,
                     sn_status *status) {
  rounds_step *s = (rounds_step *)step;
  const sn_control_flow *flow = &s->group->control;
  const rounds w = {
      .run = run, .s = s, .room = run->exe->values[flow->room->value], .until = until};
  *status = SN_OK;
  for (uint32_t k = 0; k < flow->n_operands; k++) {
    const sn_operand *x = &flow->operands[k];
    const char *buffer = run->exe->values[x->value];
    s->inputs[k] = buffer + (size_t)x->offset * sn_dtype_bytes(x->dtype);
  }
  if (begins) {
    s->round = s->calls = 0;
    s->has_code = step->code && step->ready(step->module);
    s->testing = s->control.op == SN_OP_while_loop;
    begin_kept(&w);
    begin_carries(&w);
    for (uint32_t r = 0; r < s->control.n_regions; r++) s->runs[r].place = (sn_run_place){0};
  }
  if (s->has_code) return run_serial(&w);
  switch ((int)s->control.op) {
  case SN_OP_scan: return run_scan(&w, status);
  case SN_OP_while_loop: return run_while(&w, status);
  default: return run_cond(&w, begins, status);
  }
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Takes the next part of the step's shared memory. */
static sn_status take(sn_env *env, rounds_step *s, size_t bytes, size_t *offset) {
  *offset = s->base.shared_bytes;
  SN_FAIL_IF(env,
             !sn_size_round_up(bytes, 64, &bytes) ||
                 sn_size_add_overflows(s->base.shared_bytes, bytes, &s->base.shared_bytes),
             SN_ERR_MEMORY, s->group->name, "what its rounds share is too large");
  return SN_OK;
}

/* Bytes of result k of one round: results of a scan behind its carries are made slice by slice. */
static size_t result_bytes(const sn_control *c, size_t k) {
  const sn_graph *body = c->regions[0];
  return sn_type_bytes(&body->nodes[body->outputs[k]].type);
}

/* Takes memory for what the kernels of the regions share, and for their workers. */
static sn_status take_scratch(sn_env *env, rounds_step *s, sn_executable *const *regions) {
  size_t most = 0;
  for (uint32_t r = 0; r < s->control.n_regions; r++) {
    const size_t shared = regions[r]->workers_offset - regions[r]->shared_offset;
    if (shared > most) most = shared;
    if (regions[r]->worker_stride > s->base.worker_bytes)
      s->base.worker_bytes = regions[r]->worker_stride;
  }
  return take(env, s, most, &s->scratch);
}

static bool stays_packed(const sn_control *c, const sn_kernel *kernel) {
  return c->op != SN_OP_cond && kernel->packed.wanted &&
         kernel->packed.argument >= c->n_carries + c->n_stacks;
}

static sn_status keep_packed(sn_arena *arena, rounds_step *s, sn_executable *body) {
  SN_TRY(sn_arena_alloc(arena, body->n_kernels, sizeof *s->kept, (void **)&s->kept));
  for (size_t i = 0; i < body->n_kernels; i++) {
    sn_kernel *kernel = &body->kernels[i];
    if (!stays_packed(&s->control, kernel)) continue;
    kept_side *kept = &s->kept[s->n_kept++];
    kept->kernel = kernel;
    SN_TRY(take(arena->env, s, sn_gemm_side_b(&kernel->product->gemm)->bytes, &kept->offset));
    sn_kernel_keep_packed(kernel);
  }
  return SN_OK;
}

static sn_status make_runs(sn_arena *arena, rounds_step *s, sn_executable *const *regions) {
  for (uint32_t r = 0; r < s->control.n_regions; r++) {
    sn_run *run = &s->runs[r];
    run->exe = regions[r];
    const sn_program_code *program = regions[r]->program;
    SN_TRY(sn_arena_alloc(arena, program->n_buffers, sizeof *run->buffers, (void **)&run->buffers));
    SN_TRY(sn_arena_alloc(arena, program->n_arguments, sizeof *run->versions,
                          (void **)&run->versions));
  }
  return SN_OK;
}

/* Control flow within a region has been made, and so described, before. */
static sn_status describe_region(sn_arena *arena, const sn_executable *exe, sn_serial_region *out) {
  const sn_serial_control **controls;
  SN_TRY(sn_arena_alloc(arena, exe->n_kernels, sizeof *controls, (void **)&controls));
  for (size_t i = 0; i < exe->n_kernels; i++)
    if (exe->controls[i]) controls[i] = &exe->controls[i]->described;
  *out = (sn_serial_region){&exe->program->groups, exe->kernels, controls};
  return SN_OK;
}

static sn_status describe(sn_arena *arena, rounds_step *s, const sn_target *target) {
  sn_serial_control *d = &s->base.described;
  *d = (sn_serial_control){.control = s->control, .group = s->group};
  for (uint32_t r = 0; r < s->control.n_regions; r++)
    SN_TRY(describe_region(arena, s->base.regions[r], &d->regions[r]));
  s->base.serial = sn_serial_suits(target, d);
  if (!s->base.serial) return SN_OK;
  SN_TRY(take(arena->env, s, sn_serial_stacks(d), &s->stacks));
  return sn_arena_alloc(arena, sn_serial_table(&d->control), sizeof *s->table, (void **)&s->table);
}

sn_status sn_control_make(sn_arena *arena, const sn_program_code *program, const sn_step *step,
                          sn_executable *const *regions, sn_control_step **out) {
  const sn_group *group = &program->groups.groups[step->group];
  const sn_control control = sn_graph_control(&program->graph, group->control.node);
  rounds_step *s;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *s, (void **)&s));
  *s = (rounds_step){.control = control, .group = group};
  s->base.run = run_step;
  s->base.n_regions = control.n_regions;
  memcpy(s->base.regions, regions, sizeof s->base.regions);
  SN_TRY(sn_arena_alloc(arena, control.n_carries, sizeof *s->now, (void **)&s->now));
  SN_TRY(sn_arena_alloc(arena, control.n_results, sizeof *s->bytes, (void **)&s->bytes));
  SN_TRY(sn_arena_alloc(arena, control.n_results, sizeof *s->stores, (void **)&s->stores));
  SN_TRY(sn_arena_alloc(arena, control.n_stacks, sizeof *s->slices, (void **)&s->slices));
  SN_TRY(sn_arena_alloc(arena, group->control.n_operands, sizeof *s->inputs, (void **)&s->inputs));
  for (size_t k = 0; k < control.n_results; k++) s->stores[k] = SN_NONE;
  for (uint32_t i = 0; i < group->n_stores; i++) s->stores[group->control.results[i]] = i;
  const sn_id *x = sn_graph_inputs(&program->graph, group->control.node) + control.n_carries;
  for (size_t k = 0; k < control.n_stacks; k++) {
    const sn_type slice = sn_type_slice(&program->graph.nodes[x[k]].type);
    s->slices[k] = sn_type_bytes(&slice);
  }
  for (size_t k = 0; k < control.n_results; k++) s->bytes[k] = result_bytes(&control, k);
  SN_TRY(sn_room_of(arena, program, step, &s->room));
  SN_TRY(keep_packed(arena, s, regions[0]));
  SN_TRY(take_scratch(arena->env, s, regions));
  SN_TRY(make_runs(arena, s, regions));
  SN_TRY(describe(arena, s, program->groups.target));
  *out = &s->base;
  return SN_OK;
}
