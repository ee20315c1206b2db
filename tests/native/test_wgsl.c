/* test_wgsl.c - programs for a graphics processor, on a host that only records what it is asked to do: what shaders bind, how
 * their texts depend on constants, and which memory is freed. tests/webgpu runs shaders. */
#include "support.h"

#include <stdio.h>

#include "api.h"
#include "backend/backend_gpu.h"
#include "backend/gpu_host.h"

enum { BUFFERS = 8, SHARED_BYTES = 16 * 1024, MOST = 256 };

/* ---- the host -------------------------------------------------------------------------------- */

static struct {
  int buffers, programs, dispatches, variants, runs, uploads, overlaps, mixed, most_bindings;
  uint32_t last_buffer, last_program, gate_words, rounds, whiles, ends;
  const char *refuses; /* what it is to say, if it is to refuse anything */
  size_t most_bytes;
  sn_status status;
  char *texts[MOST];
  int n_texts;
} host;

void sn_gpu_why(char *text, size_t room) { snprintf(text, room, "%s", host.refuses); }

uint32_t sn_gpu_allocate(size_t bytes) {
  if (host.refuses && bytes > host.most_bytes) return 0;
  host.buffers++;
  return ++host.last_buffer;
}

void sn_gpu_release(uint32_t buffer) {
  (void)buffer;
  host.buffers--;
}

void sn_gpu_upload(uint32_t to, const void *from, size_t bytes) {
  assert_true(to && from && bytes);
  host.uploads++;
}

void sn_gpu_copy(uint32_t to, uint32_t from, size_t bytes) { assert_true(to && from && bytes); }

uint32_t sn_gpu_program(uint32_t gate_words, uint32_t arguments) {
  (void)arguments;
  host.gate_words = gate_words;
  host.programs++;
  return ++host.last_program;
}

static bool overlap(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

/* WebGPU's rules for the bindings of a dispatch. */
static void check_bindings(const sn_dispatch *d) {
  for (uint32_t i = 0; i < d->n_bindings; i++) {
    const sn_shader_binding *a = &d->bindings[i];
    assert_int_equal(a->offset % 256, 0);
    assert_int_equal(a->bytes % 4, 0);
    for (uint32_t k = i + 1; k < d->n_bindings; k++) {
      const sn_shader_binding *b = &d->bindings[k];
      if (a->buffer != b->buffer) continue;
      host.mixed += a->writes != b->writes;
      host.overlaps += a->writes && overlap(a->offset, a->bytes, b->offset, b->bytes);
      host.overlaps += a->writes && overlap(a->odd_offset, a->bytes, b->odd_offset, b->bytes);
    }
  }
  if ((int)d->n_bindings > host.most_bindings) host.most_bindings = (int)d->n_bindings;
}

void sn_gpu_step(uint32_t program, const sn_device_step *step) {
  const sn_dispatch *d = &step->dispatch;
  assert_true(program);
  host.rounds += step->kind == SN_DEVICE_ROUNDS ? step->number : 0;
  host.whiles += step->kind == SN_DEVICE_WHILE;
  host.ends += step->kind == SN_DEVICE_END;
  if (step->kind != SN_DEVICE_DISPATCH && step->kind != SN_DEVICE_VARIANT) return;
  assert_true(d->name && *d->name);
  assert_non_null(strstr(d->text, "fn main"));
  assert_null(strstr(d->text, " % 0;"));
  assert_true(!d->gate || d->gate + 6 <= host.gate_words);
  if (step->kind == SN_DEVICE_VARIANT)
    host.variants++;
  else
    host.dispatches++;
  check_bindings(d);
  for (int i = 0; i < 3; i++) assert_in_range(d->groups[i], 1, 65535);
  for (int i = 0; i < host.n_texts; i++)
    if (!strcmp(host.texts[i], d->text)) return;
  assert_true(host.n_texts < MOST);
  host.texts[host.n_texts] = strdup(d->text);
  assert_non_null(host.texts[host.n_texts++]);
}

void sn_gpu_forget(uint32_t program) {
  (void)program;
  host.programs--;
}

uint32_t sn_gpu_run(uint32_t program, void *const *buffers, size_t n_buffers) {
  assert_true(program && n_buffers);
  for (size_t i = 0; i < n_buffers; i++) (void)buffers[i];
  host.runs++;
  return host.status;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static sn_context *open_device(void) {
  sn_context *ctx;
  const sn_target target = sn_wgsl_target(BUFFERS, SHARED_BYTES);
  memset(&host, 0, sizeof host);
  assert_int_equal(sn_context_create_on(NULL, &sn_gpu_backend, &target, &ctx), SN_OK);
  assert_int_equal(sn_scope_begin(ctx), SN_OK);
  return ctx;
}

/* All memory and programs are given back. */
static void close_device(sn_context *ctx) {
  sn_scope_end(ctx);
  sn_context_destroy(ctx);
  assert_int_equal(host.buffers, 0);
  assert_int_equal(host.programs, 0);
  for (int i = 0; i < host.n_texts; i++) free(host.texts[i]);
}

static sn_tensor *zeros(sn_context *ctx, int rank, const int64_t *dims) {
  sn_tensor *t = sn_zeros(ctx, SN_F32, rank, dims);
  assert_int_equal(sn_eval(&t, 1), SN_OK);
  return t;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_bindings_keep_the_rules(void **state) {
  (void)state;
  sn_context *ctx = open_device();
  sn_tensor *x = sn_variable(zeros(ctx, DIMS(40, 40)));
  sn_tensor *y = x;
  for (int i = 0; i < 6; i++) /* a few kernels of all kinds; the scope has what they leave */
    y = sn_sub(sn_tanh(sn_matmul(sn_add(y, sn_scalar(ctx, 0.01 * i)), y)), sn_sum(y, 1, true));
  sn_tensor *loss = sn_sum(sn_softmax(y, 1), SN_ALL_AXES, false), *slope = NULL;
  assert_int_equal(sn_gradients(loss, &x, 1, &slope), SN_OK);
  assert_int_equal(sn_eval((sn_tensor *[]){loss, slope}, 2), SN_OK);
  assert_true(host.dispatches > 20);
  assert_int_equal(host.overlaps, 0);
  assert_int_equal(host.mixed, 0);
  assert_in_range(host.most_bindings, 2, BUFFERS);
  assert_true(host.variants > 0);
  close_device(ctx);
}

/* A condition in a scan over the rows of x, which is a constant of its body, too; and a loop that tests. */
static void test_loops_and_conditions(void **state) {
  (void)state;
  sn_context *ctx = open_device();
  enum { N = 5, ROUNDS = 7 };
  sn_tensor *in[2], *h, *branches[2], *out[2];
  in[0] = sn_placeholder(ctx, SN_F32, DIMS(N));
  in[1] = sn_placeholder(ctx, SN_F32, DIMS(N));
  h = sn_placeholder(ctx, SN_F32, DIMS(N));
  branches[0] = sn_cumsum(h, 0, false, false);
  branches[1] = sn_sub(sn_cumsum(h, 0, true, false), sn_scalar(ctx, 1));
  sn_tensor *x = zeros(ctx, DIMS(ROUNDS, N)), *start = sn_sum(x, 1, false);
  const sn_traced on_true = {&h, 1, branches, 1}, on_false = {&h, 1, branches + 1, 1};
  sn_tensor *test = sn_less(sn_sum(in[0], SN_ALL_AXES, false), sn_sum(x, SN_ALL_AXES, false)),
            *next;
  assert_int_equal(sn_cond(test, &on_true, &on_false, in, &next), SN_OK);
  sn_tensor *made[2] = {sn_add(next, in[1]), sn_neg(next)};
  const sn_traced body = {in, 2, made, 2};
  sn_tensor *inputs[2] = {sn_cumsum(start, 0, false, false), x};
  assert_int_equal(sn_scan(ctx, &body, 1, inputs, ROUNDS, true, out), SN_OK);
  assert_int_equal(sn_eval(out, 2), SN_OK);
  assert_int_equal(host.rounds, ROUNDS);
  assert_true(host.gate_words >= 3 + 2 * 6); /* flags, and dispatches of two branches */

  sn_tensor *again = sn_placeholder(ctx, SN_F32, DIMS(N)), *last;
  sn_tensor *goes_on = sn_less(sn_sum(again, SN_ALL_AXES, false), sn_scalar(ctx, 3)),
            *grown = sn_cumsum(again, 0, false, false);
  const sn_traced tests = {&again, 1, &goes_on, 1}, grows = {&again, 1, &grown, 1};
  assert_int_equal(sn_while(ctx, &tests, &grows, out, &last), SN_OK);
  assert_int_equal(sn_eval(&last, 1), SN_OK);
  assert_int_equal(host.whiles, 1);
  assert_int_equal(host.ends, 2);
  assert_int_equal(host.overlaps, 0);
  assert_int_equal(host.mixed, 0);
  close_device(ctx);
}

/* A sum over two dimensions, one of them empty, that do not lie one after the other. */
static void test_sums_of_nothing(void **state) {
  (void)state;
  sn_context *ctx = open_device();
  sn_tensor *x = zeros(ctx, DIMS(40, 1)), *none = zeros(ctx, DIMS(1, 0));
  sn_tensor *sum = sn_sum(sn_mul(x, none), SN_ALL_AXES, false);
  assert_int_equal(sn_eval(&sum, 1), SN_OK);
  assert_true(host.dispatches > 0);
  close_device(ctx);
}

static void test_texts_do_not_depend_on_constants(void **state) {
  (void)state;
  sn_context *ctx = open_device();
  sn_tensor *x = zeros(ctx, DIMS(100));
  const int before = host.n_texts;
  for (int i = 0; i < 5; i++) {
    sn_tensor *k = sn_scalar(ctx, 1.5 + i), *p = sn_placeholder(ctx, SN_F32, DIMS(100)),
              *y = sn_exp(sn_mul(p, k));
    sn_program *program;
    assert_int_equal(sn_compile(ctx, &p, 1, &y, 1, NULL, &program), SN_OK);
    sn_tensor *out;
    assert_int_equal(sn_program_run(program, &x, &out), SN_OK);
    sn_program_release(program);
  }
  assert_int_equal(host.n_texts, before + 1);
  close_device(ctx);
}

static void test_what_is_refused(void **state) {
  (void)state;
  sn_context *ctx = open_device(), *cpu;
  assert_int_equal(sn_context_create(NULL, &cpu), SN_OK);
  assert_int_equal(sn_scope_begin(cpu), SN_OK);
  sn_tensor *x = zeros(ctx, DIMS(3)), *here = sn_zeros(cpu, SN_F32, DIMS(3));
  assert_null(sn_data(x));
  expect_error(ctx, SN_ERR_ARGUMENT, "data: the value lies on another device");
  float read[3];
  assert_int_equal(sn_read(x, read, sizeof read), SN_ERR_ARGUMENT);
  expect_error(ctx, SN_ERR_ARGUMENT, "read: the value lies on another device");
  assert_null(sn_add(x, here));
  expect_error(ctx, SN_ERR_ARGUMENT, "add: inputs of two contexts, or on two devices");
  sn_tensor *wide = sn_zeros(ctx, SN_F64, DIMS(3));
  assert_int_equal(sn_eval(&wide, 1), SN_ERR_UNSUPPORTED);
  sn_error_clear(ctx);
  sn_tensor *there = sn_copy_to(ctx, here), *again = sn_copy_to(ctx, there);
  assert_non_null(there);
  assert_non_null(again);
  assert_ptr_not_equal(sn_value_handle(there), sn_value_handle(again));
  sn_scope_end(cpu);
  sn_context_destroy(cpu);
  close_device(ctx);
}

/* The error has the host's words, and what was donated is there still. */
static void test_the_host_says_why(void **state) {
  (void)state;
  sn_context *ctx = open_device();
  sn_tensor *x = zeros(ctx, DIMS(4)), *p = sn_placeholder(ctx, SN_F32, DIMS(4)), *y = sn_exp(p),
            *out;
  sn_program *program;
  assert_int_equal(sn_compile(ctx, &p, 1, &y, 1, (bool[]){true}, &program), SN_OK);
  host.refuses = "the device was lost: a cable";
  host.status = SN_ERR_WORKER;
  assert_int_equal(sn_program_run(program, &x, &out), SN_ERR_WORKER);
  expect_error(ctx, SN_ERR_WORKER, "the device was lost: a cable");
  host.status = SN_OK;
  host.refuses = "a buffer of 4000 bytes is beyond the device's 1000";
  host.most_bytes = 1000;
  sn_tensor *large = sn_zeros(ctx, SN_F32, DIMS(1000));
  assert_int_equal(sn_eval(&large, 1), SN_ERR_MEMORY);
  expect_error(ctx, SN_ERR_MEMORY, host.refuses);
  host.refuses = NULL;
  assert_int_equal(sn_program_run(program, &x, &out), SN_OK); /* with what was donated before */
  sn_program_release(program);
  close_device(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bindings_keep_the_rules),
      cmocka_unit_test(test_loops_and_conditions),
      cmocka_unit_test(test_sums_of_nothing),
      cmocka_unit_test(test_texts_do_not_depend_on_constants),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_the_host_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
