#include "bridge.h"

#include <string.h>

#include "api.h"
#include "base/host.h"
#include "jit/modules.h"
#include "tensor/apply.h"
#include "tensor/program.h"
#include "threads/driver.h"

/* JS reads these structs where they are. */
_Static_assert(sizeof(void *) == 4 && sizeof(size_t) == 4, "tensors and sizes are 32-bit words");
_Static_assert(sizeof(sn_kernel_profile) == 48, "layout known to js/src/profile.ts");
_Static_assert(sizeof(sn_span) == 32, "layout known to js/src/profile.ts");
_Static_assert(offsetof(sn_error, op) == 388 && offsetof(sn_error, n_shapes) == 420 &&
                   sizeof(sn_error_shape) == 72 && offsetof(sn_error, line) == 712 &&
                   offsetof(sn_error, file) == 716 && offsetof(sn_error, hint) == 720,
               "layout known to js/src/runtime/runtime.ts");

enum { SCRATCH_WORDS = 1024 };

sn_context *sinter_contexts[SINTER_DEVICES];
static sn_context *context; /* of new tensors */
static _Alignas(8) int32_t first_scratch[SCRATCH_WORDS];
static int32_t *scratch = first_scratch;
static uint32_t scratch_words = SCRATCH_WORDS;

/* Pointers and words are the same size here, so an array of tensors is read in place. */
static sn_tensor **scratch_tensors(void) { return (sn_tensor **)(void *)scratch; }

/* Numbers that JavaScript has sent as two words each. Results may take their place: the one of number
 * i lies on words of numbers up to i, which have been read by then. */
static const int64_t *scratch_wide(void) { return (const int64_t *)(const void *)scratch; }

int32_t *sinter_scratch(uint32_t words) {
  if (words <= scratch_words) return scratch;
  uint32_t grown = scratch_words;
  while (grown < words) {
    if (grown > UINT32_MAX / 8) return NULL;
    grown *= 2;
  }
  int32_t *block = sn_host_allocate(grown * sizeof *block);
  if (!block) return NULL;
  if (scratch != first_scratch) sn_host_release(scratch, scratch_words * sizeof *scratch);
  scratch = block;
  scratch_words = grown;
  return scratch;
}

void *sinter_worker_memory(uint32_t bytes) { return sn_host_allocate(bytes); }

/* ---- context --------------------------------------------------------------------------------- */

sn_status sinter_create(int threads, bool deterministic, bool jit, bool relaxed_simd,
                        uint32_t memory_limit_bytes) {
  if (context) return SN_ERR_ARGUMENT;
  const sn_options options = {.threads = threads,
                              .deterministic = deterministic,
                              .no_jit = !jit,
                              .relaxed_simd = relaxed_simd,
                              .memory_limit_bytes = memory_limit_bytes};
  SN_TRY(sn_context_create(&options, &context));
  sinter_contexts[0] = context;
  return SN_OK;
}

uint32_t sinter_enter(uint32_t device) {
  const uint32_t before = context != sinter_contexts[0];
  context = sinter_contexts[device];
  return before;
}

/* That of a device whose context has one. */
static sn_context *failed(void) {
  sn_context *other = sinter_contexts[1];
  return other && sn_error_status(other) ? other : sinter_contexts[0];
}

void *sinter_pool(void) { return sn_context_pool(sinter_contexts[0]); }
void sinter_call(uint32_t number) { context->call = number; }
void sinter_revive(void) { sn_pool_revive(sn_context_pool(sinter_contexts[0])); }
const char *sinter_isa(void) { return sn_isa(sinter_contexts[0]); }
const char *sinter_version(void) { return SN_VERSION; }
const sn_error *sinter_error_info(void) { return sn_error_info(failed()); }
void sinter_error_clear(void) { sn_error_clear(failed()); }

void sinter_memory(void) {
  sn_memory_info info;
  sn_memory(sinter_contexts[0], &info);
  memcpy(scratch, &info, sizeof info);
}

size_t sinter_tensor_bytes(void) {
  sn_memory_info info;
  sn_memory(sinter_contexts[0], &info);
  return info.tensor_bytes;
}

void sinter_caches(void) {
  sn_memory_info info;
  sn_memory(sinter_contexts[0], &info);
  const sn_code_counts code = sn_code_count();
  const size_t counts[] = {
      info.programs, info.program_hits, info.program_misses, info.program_evictions,
      code.live,     code.bytes,        code.hits,           code.refused};
  memcpy(scratch, counts, sizeof counts);
}

void sinter_set_debug(int level) { sn_set_debug(context, level); }
sn_dtype sinter_set_precision(sn_dtype precision) { return sn_set_precision(context, precision); }
void sinter_set_poison(bool on) { sn_set_poison(context, on); }
int sinter_pass_count(void) { return sn_pass_count(); }
const char *sinter_pass_name(int index) { return sn_pass_name(index); }
sn_status sinter_pass_enable(int index, bool on) {
  return sn_pass_enable(context, sn_pass_name(index), on);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Widens the rank words from the given one on. JS never sends a rank above SN_MAX_RANK. */
static const int64_t *dims_from(int64_t *wide, const int32_t *words, int rank) {
  for (int i = 0; i < rank; i++) wide[i] = words[i];
  return wide;
}

#define DIMS(rank) dims_from((int64_t[SN_MAX_RANK]){0}, scratch, (rank))

sn_tensor *sinter_empty(int dtype, int rank) {
  void *data = NULL;
  sn_tensor *t = sn_empty(sinter_contexts[0], (sn_dtype)dtype, rank, DIMS(rank), &data);
  scratch[0] = (int32_t)(uintptr_t)data;
  return t;
}

sn_tensor *sinter_scalar(double value) { return sn_scalar(context, value); }

sn_tensor *sinter_placeholder(int dtype, int rank) {
  return sn_placeholder(context, (sn_dtype)dtype, rank, DIMS(rank));
}

sn_tensor *sinter_copy(sn_tensor *t) { return sn_copy_to(t->ctx, t); }

void sinter_retain(sn_tensor *t) { sn_retain(t); }
void sinter_release(sn_tensor *t) { sn_release(t); }

void sinter_describe(const sn_tensor *t) {
  const int rank = sn_rank(t);
  const int64_t *dims = sn_dims(t);
  scratch[0] = (int32_t)sn_dtype_of(t);
  scratch[1] = rank;
  for (int i = 0; i < rank; i++) scratch[2 + i] = (int32_t)dims[i];
}

const void *sinter_data(sn_tensor *t) { return sn_data(t); }
bool sinter_is_computed(const sn_tensor *t) { return sn_is_computed(t); }
sn_status sinter_eval(uint32_t count) { return sn_eval(scratch_tensors(), count); }

sn_status sinter_eval_async(uint32_t count) {
  uint32_t ticket = 0;
  const sn_status status = sn_eval_async(scratch_tensors(), count, &ticket);
  scratch[0] = (int32_t)ticket;
  return status;
}

bool sinter_ticket_done(uint32_t ticket) { return sn_ticket_done(sinter_contexts[0], ticket); }
void sinter_take_turns(void) { sn_driver_take_turns(sinter_pool()); }
bool sinter_turn(double ms) { return sn_driver_turn(sinter_pool(), ms); }
sn_status sinter_synchronize(void) { return sn_synchronize(context); }

/* ---- ops ------------------------------------------------------------------------------------- */

/* By number: the public functions, one per op, would each be code and a place in the function
 * table. */
static sn_tensor *elementwise(uint32_t op, sn_tensor *const *inputs, size_t n) {
  return sn_apply_op((sn_op)op, inputs, n);
}

sn_tensor *sinter_unary(uint32_t op, sn_tensor *x) { return elementwise(op, &x, 1); }

sn_tensor *sinter_binary(uint32_t op, sn_tensor *x, sn_tensor *y) {
  return elementwise(op, (sn_tensor *[]){x, y}, 2);
}

sn_tensor *sinter_binary_scalar(uint32_t op, sn_tensor *x, double y) {
  sn_tensor *scalar = sn_scalar(x->ctx, y);
  sn_tensor *result = sinter_binary(op, x, scalar);
  sn_release(scalar);
  return result;
}

sn_tensor *sinter_scalar_binary(uint32_t op, double x, sn_tensor *y) {
  sn_tensor *scalar = sn_scalar(y->ctx, x);
  sn_tensor *result = sinter_binary(op, scalar, y);
  sn_release(scalar);
  return result;
}

sn_tensor *sinter_ternary(uint32_t op, sn_tensor *x, sn_tensor *y, sn_tensor *z) {
  return elementwise(op, (sn_tensor *[]){x, y, z}, 3);
}

/* The six words per axis into wide, and the options that refer to them. */
enum { WINDOW_WORDS = 6 * 3 };
static sn_window_options window_options(int64_t wide[WINDOW_WORDS], int axes) {
  const int32_t *last = scratch + 6 * axes;
  dims_from(wide, scratch, 6 * axes);
  return (sn_window_options){.strides = wide,
                             .dilation = wide + axes,
                             .padding = (sn_padding)last[0],
                             .before = wide + 2 * axes,
                             .after = wide + 3 * axes,
                             .groups = last[1],
                             .channels_first = last[2],
                             .output_padding = wide + 5 * axes,
                             .ceil = last[3],
                             .count_padding = last[4]};
}

#include "sinter_bridge.inc"

/* ---- derivatives, control flow and programs -------------------------------------------------- */

sn_tensor *sinter_variable(sn_tensor *x) { return sn_variable(x); }

sn_tensor *sinter_untracked(sn_tensor *t) { return sn_untracked(t); }

sn_status sinter_gradients(sn_tensor *y, uint32_t count) {
  sn_tensor **wrt = scratch_tensors();
  return sn_gradients(y, wrt, count, wrt + count);
}

/* A traced function that lies at `at`, its inputs before its outputs. */
static sn_traced traced_at(sn_tensor **at, uint32_t n_inputs, uint32_t n_outputs) {
  return (sn_traced){at, n_inputs, at + n_inputs, n_outputs};
}

sn_status sinter_scan(uint32_t n_inputs, uint32_t n_outputs, uint32_t n_carries) {
  sn_tensor **given = scratch_tensors() + n_inputs + n_outputs;
  const int32_t *numbers = scratch + 2 * n_inputs + n_outputs;
  const sn_traced body = traced_at(scratch_tensors(), n_inputs, n_outputs);
  return sn_scan(context, &body, n_carries, given, numbers[0], numbers[1] != 0,
                 given + n_inputs + 2);
}

sn_status sinter_while(uint32_t n) {
  sn_tensor **body = scratch_tensors() + n + 1, **carries = body + 2 * n;
  const sn_traced test = traced_at(scratch_tensors(), n, 1), traced = traced_at(body, n, n);
  return sn_while(context, &test, &traced, carries, carries + n);
}

sn_status sinter_cond(uint32_t n_operands, uint32_t n_outputs) {
  sn_tensor **on_true = scratch_tensors() + 1, **on_false = on_true + n_operands + n_outputs;
  sn_tensor **operands = on_false + n_operands + n_outputs;
  const sn_traced branches[] = {traced_at(on_true, n_operands, n_outputs),
                                traced_at(on_false, n_operands, n_outputs)};
  return sn_cond(*scratch_tensors(), &branches[0], &branches[1], operands, operands + n_operands);
}

sn_status sinter_checkpoint(uint32_t n, uint32_t n_outputs, uint32_t n_names) {
  sn_tensor **operands = scratch_tensors() + n + n_outputs;
  const int32_t *products = scratch + 2 * n + n_outputs;
  const sn_traced body = traced_at(scratch_tensors(), n, n_outputs);
  const sn_save_policy keep = {*products, products + 1, n_names};
  return sn_checkpoint(context, &body, operands, &keep, operands + n + 1 + n_names);
}

/* Before the tensors how many derivatives the rule takes and makes. */
sn_status sinter_custom(uint32_t n, uint32_t n_outputs, uint32_t reverse) {
  const uint32_t n_given = (uint32_t)scratch[0], n_made = (uint32_t)scratch[1];
  sn_tensor **body = scratch_tensors() + 2, **rule = body + n + n_outputs;
  sn_tensor **arguments = rule + n + n_given + n_made;
  const sn_traced traced[] = {traced_at(body, n, n_outputs), traced_at(rule, n + n_given, n_made)};
  return sn_custom(context, &traced[0], &traced[1], reverse, arguments, arguments + n);
}

sn_tensor *sinter_named(sn_tensor *x, int32_t name) { return sn_named(x, name); }

sn_status sinter_vjp(uint32_t n_outputs, uint32_t n) {
  sn_tensor **y = scratch_tensors(), **dy = y + n_outputs, **wrt = dy + n_outputs;
  return sn_vjp(context, y, n_outputs, dy, wrt, n, wrt + n);
}

sn_status sinter_jvp(uint32_t n_outputs, uint32_t n) {
  sn_tensor **y = scratch_tensors(), **wrt = y + n_outputs, **tangents = wrt + n;
  return sn_jvp(context, y, n_outputs, wrt, tangents, n, tangents + n);
}

sn_status sinter_vmap(uint32_t n_outputs, uint32_t n) {
  sn_tensor **y = scratch_tensors(), **examples = y + 2 * n_outputs, **batches = examples + n;
  const int32_t *out_axes = scratch + n_outputs, *in_axes = out_axes + n_outputs + 2 * n;
  return sn_vmap(context, y, out_axes, n_outputs, examples, batches, in_axes, n, batches + 2 * n);
}

sn_program *sinter_compile(uint32_t n_inputs, uint32_t n_outputs) {
  sn_tensor **inputs = scratch_tensors();
  const int32_t *flags = scratch + n_inputs + n_outputs, *switches = flags + n_inputs;
  bool *donate = sn_host_allocate(n_inputs + 1);
  if (!donate) return NULL;
  for (uint32_t i = 0; i < n_inputs; i++) donate[i] = flags[i] != 0;
  sn_program *program = NULL;
  const sn_program_options options = {.donate = donate,
                                      .passes_off = (uint32_t)switches[0],
                                      .passes_on = (uint32_t)switches[1],
                                      .record = switches[2] != 0,
                                      .memory_budget = (uint32_t)switches[3],
                                      .tune = switches[4] != 0,
                                      .excess_precision = switches[5] != 0};
  const sn_status status = sn_program_begin_compile(context, inputs, n_inputs, inputs + n_inputs,
                                                    n_outputs, &options, &program);
  sn_host_release(donate, n_inputs + 1);
  return status ? NULL : program;
}

sn_status sinter_compile_continue(sn_program *program, double ms) {
  bool done;
  const sn_status status = sn_program_continue_compile(program, sn_host_now_ms() + ms, &done);
  scratch[0] = done;
  return status;
}

sn_status sinter_program_run(sn_program *program, uint32_t n_inputs) {
  return sn_program_run(program, scratch_tensors(), scratch_tensors() + n_inputs);
}

sn_status sinter_program_watch(sn_program *program, uint32_t n_inputs, uint32_t n_outputs) {
  const char *found = NULL;
  sn_tensor **inputs = scratch_tensors();
  const sn_status status = sn_program_watch(program, inputs, inputs + n_inputs, &found);
  scratch[n_inputs + n_outputs] = (int32_t)(uintptr_t)found;
  return status;
}

sn_status sinter_program_run_async(sn_program *program, uint32_t n_inputs, uint32_t n_outputs) {
  uint32_t ticket = 0;
  sn_tensor **inputs = scratch_tensors();
  const sn_status status = sn_program_run_async(program, inputs, inputs + n_inputs, &ticket);
  scratch[n_inputs + n_outputs] = (int32_t)ticket;
  return status;
}

void sinter_program_release(sn_program *program) { sn_program_release(program); }

sn_program *sinter_program_prelude(const sn_program *program) {
  return sn_program_prelude(program);
}

const void *sinter_program_save(sn_program *program) {
  const void *bytes = NULL;
  size_t size;
  if (sn_program_save(program, (const char *)scratch, &bytes, &size)) return NULL;
  scratch[0] = (int32_t)size;
  return bytes;
}

sn_program *sinter_program_load(sn_tensor *bytes) {
  const void *data = sn_data(bytes);
  sn_program *program = NULL;
  sn_program_info info;
  if (!data || sn_program_load(context, data, sn_size_bytes(bytes), &program)) return NULL;
  sn_program_describe(program, &info);
  scratch[0] = (int32_t)info.inputs;
  scratch[1] = (int32_t)info.outputs;
  const sn_step_info *step = sn_step_describe(program);
  scratch[2] = step ? (int32_t)step->n_state : -1;
  scratch[3] = step ? (int32_t)step->n_rates : 0;
  return program;
}

const void *sinter_step_save(sn_program *program) {
  const uint32_t n_state = (uint32_t)scratch[0], n_rates = (uint32_t)scratch[1];
  sn_tensor **values = scratch_tensors() + 3;
  const char *text = (const char *)(values + n_state + n_rates);
  sn_program_info info;
  sn_program_describe(program, &info);
  const size_t block = (info.inputs + 1) * sizeof text;
  const char **paths = sn_host_allocate(block);
  if (!paths) return NULL;
  for (size_t i = 0; i < info.inputs; i++, text += strlen(text) + 1) paths[i] = text;
  const sn_step_parts parts = {.n_state = n_state,
                               .n_rates = n_rates,
                               .values = values,
                               .paths = paths,
                               .precision = (sn_dtype)scratch[2]};
  const void *bytes = NULL;
  size_t size = 0;
  const sn_status status = sn_step_save(program, &parts, text, &bytes, &size);
  sn_host_release(paths, block);
  scratch[0] = (int32_t)size;
  return status ? NULL : bytes;
}

sn_status sinter_step_init(sn_program *program) { return sn_step_init(program, scratch_tensors()); }

const char *sinter_program_note(const sn_program *program) { return sn_program_note(program); }

const char *sinter_program_inspection(const sn_program *program) {
  return sn_program_inspection(program);
}

const char *sinter_program_tuning(sn_program *program) {
  const char *json = NULL;
  sn_program_tuning(program, &json);
  return json;
}

const char *sinter_tuned(void) {
  const char *text = NULL;
  sn_tuned(context, &text);
  return text;
}

sn_status sinter_use_tuned(void) { return sn_use_tuned(context, (const char *)scratch); }

const char *sinter_program_wat(sn_program *program, uint32_t kernel) {
  const char *text = NULL;
  sn_program_wat(program, kernel, &text);
  return text;
}

const char *sinter_program_c_source(sn_program *program) {
  const char *source = NULL;
  sn_program_c_source(program, (const char *)scratch, &source);
  return source;
}

const char *sinter_program_graph(sn_program *program) {
  const char *json = NULL;
  sn_program_graph(program, &json);
  return json;
}

sn_tensor *sinter_program_captured(const sn_program *program, uint32_t number) {
  return sn_retain(sn_program_captured(program, number));
}

/* ---- profile --------------------------------------------------------------------------------- */

sn_status sinter_profile_start(uint32_t max_spans) { return sn_profile_start(context, max_spans); }
void sinter_profile_stop(void) { sn_profile_stop(context); }

const sn_kernel_profile *sinter_profile_kernels(void) {
  const sn_kernel_profile *kernels = NULL;
  scratch[0] = (int32_t)sn_profile_kernels(context, &kernels);
  return kernels;
}

const sn_span *sinter_profile_spans(void) {
  const sn_span *spans = NULL;
  size_t lost = 0;
  scratch[0] = (int32_t)sn_profile_spans(context, &spans, &lost);
  scratch[1] = (int32_t)lost;
  return spans;
}

double sinter_profile_now(void) { return sn_profile_now(); }
