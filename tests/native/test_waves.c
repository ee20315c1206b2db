/* test_waves.c - kernels that run concurrently: which ones do, that none of them accesses what another writes, and that random
 * programs have the same results on several threads, however small their kernels are. */
#include "support.h"
#include "tensor/tensor.h"
#include "written.h"

/* ---- which kernels --------------------------------------------------------------------------- */

static const sn_executable *newest(const sn_context *ctx) {
  return ctx->cache[ctx->n_cached - 1]->exe;
}

static sn_program *compiled(sn_context *ctx, sn_tensor **in, size_t n_in, sn_tensor **out,
                            size_t n_out, const bool *donate) {
  sn_program *program = NULL;
  assert_int_equal(sn_compile(ctx, in, n_in, out, n_out, donate, &program), SN_OK);
  return program;
}

/* Of other sizes, so that no kernel is two of them. */
static void independent_kernels_are_one_wave(void **state) {
  (void)state;
  enum { N = 5 };
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  sn_tensor *in[N], *out[N], *given[N], *got[N] = {NULL};
  for (int i = 0; i < N; i++) {
    in[i] = sn_placeholder(f.ctx, SN_F32, DIMS(1000 + 100 * i));
    out[i] = sn_neg(in[i]);
    given[i] = ramp(f.ctx, DIMS(1000 + 100 * i), (float)(i + 1));
  }
  sn_program *program = compiled(f.ctx, in, N, out, N, NULL);
  const sn_executable *exe = newest(f.ctx);
  assert_int_equal(exe->n_kernels, N);
  assert_int_equal(exe->waves.lengths[0], N);
  assert_int_equal(sn_program_run(program, given, got), SN_OK);
  for (int i = 0; i < N; i++) {
    const float *values = sn_data(got[i]);
    for (int k = 0; k < 1000 + 100 * i; k++)
      assert_true(values[k] == -(float)(i + 1) * (float)(k + 1));
  }
  sn_program_release(program);
  release_all(in, N);
  release_all(out, N);
  release_all(given, N);
  release_all(got, N);
  fixture_close(&f);
}

static void a_kernel_that_reads_another_is_not_in_its_wave(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(40, 40)), *y = sn_matmul(x, x),
            *z = sn_matmul(y, x);
  sn_program *program = compiled(f.ctx, &x, 1, &z, 1, NULL);
  const sn_executable *exe = newest(f.ctx);
  assert_int_equal(exe->n_kernels, 2);
  assert_int_equal(exe->waves.lengths[0], 1);
  assert_int_equal(exe->waves.lengths[1], 1);
  sn_program_release(program);
  release_all((sn_tensor *[]){x, y, z}, 3);
  fixture_close(&f);
}

/* The negation is written where the product still reads. */
static void what_takes_over_memory_is_not_in_the_wave_of_who_reads_it(void **state) {
  (void)state;
  for (int donated = 0; donated < 2; donated++) {
    fixture f;
    fixture_open(&f, (sn_options){.threads = 3});
    sn_tensor *x = sn_placeholder(f.ctx, SN_F32, DIMS(40, 40));
    sn_tensor *out[] = {sn_matmul(x, x), sn_neg(x)};
    const bool donate = donated;
    sn_program *program = compiled(f.ctx, &x, 1, out, 2, &donate);
    const sn_executable *exe = newest(f.ctx);
    assert_int_equal(exe->n_kernels, 2);
    assert_int_equal(exe->waves.lengths[0], donated ? 1 : 2);
    sn_program_release(program);
    release_all((sn_tensor *[]){x, out[0], out[1]}, 3);
    fixture_close(&f);
  }
}

/* ---- random programs ------------------------------------------------------------------------- */

static size_t n_waves; /* of two kernels and more */

/* By the plan's places, where waves are found by the handles. */
static bool same_place(const sn_program_code *program, uint32_t u, uint32_t v) {
  const sn_place *a = &program->plan.places[u], *b = &program->plan.places[v];
  const sn_value *values = program->groups.values;
  if (!sn_type_bytes(&values[u].type) || !sn_type_bytes(&values[v].type)) return false;
  if (u == v) return true;
  if (a->kind == SN_PLACE_ARENA && b->kind == SN_PLACE_ARENA)
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
  const bool arguments = (a->kind == SN_PLACE_ARGUMENT || a->kind == SN_PLACE_DONATED) &&
                         (b->kind == SN_PLACE_ARGUMENT || b->kind == SN_PLACE_DONATED);
  return (arguments || (a->kind == b->kind && a->kind == SN_PLACE_OUTPUT)) && a->index == b->index;
}

/* Whether two kernels, in whichever order, may write what the other touches. */
static bool meet(const sn_program_code *program, size_t i, size_t k) {
  sn_value_set a, b;
  sn_arena arena;
  sn_arena_init(&arena, program->arena.env);
  assert_int_equal(sn_value_set_init(&a, &arena, &program->groups), SN_OK);
  assert_int_equal(sn_value_set_init(&b, &arena, &program->groups), SN_OK);
  const sn_group *groups = program->groups.groups;
  const size_t a_writes = sn_group_buffers(&groups[program->steps[i].group], 1, &a);
  const size_t b_writes = sn_group_buffers(&groups[program->steps[k].group], 1, &b);
  bool do_meet = false;
  for (size_t u = 0; u < a.n; u++)
    for (size_t v = 0; v < b.n; v++)
      do_meet |= (u < a_writes || v < b_writes) && same_place(program, a.ids[u], b.ids[v]);
  sn_arena_free(&arena);
  return do_meet;
}

static void check_waves(const sn_executable *exe) {
  size_t k = 0;
  while (k < exe->n_kernels) {
    const size_t n = exe->waves.lengths[k];
    assert_in_range(n, 1, SN_WAVE_MOST);
    n_waves += n > 1;
    for (size_t i = k; i < k + n; i++)
      for (size_t j = i + 1; j < k + n; j++) {
        assert_false(meet(exe->program, i, j));
        assert_true(exe->waves.shared[i] + exe->kernels[i].shared_bytes <= exe->waves.shared[j]);
      }
    assert_true(exe->shared_offset + exe->waves.shared[k + n - 1] +
                    exe->kernels[k + n - 1].shared_bytes <=
                exe->workers_offset);
    k += n;
  }
  assert_int_equal(k, exe->n_kernels);
}

/* Every kernel is worth all threads then. */
static void make_threads_cheap(sn_executable *exe) {
  static sn_target cheap;
  cheap = *exe->program->groups.target;
  cheap.costs.worker_ns = 1e-3;
  exe->program->groups.target = &cheap;
}

/* A written_fault that breaks nothing. */
static bool look(sn_executable *exe, void *user) {
  check_waves(exe);
  make_threads_cheap(exe);
  for (size_t k = 0; k < exe->n_kernels; k++)
    for (uint32_t r = 0; exe->controls[k] && r < exe->controls[k]->n_regions; r++)
      look(exe->controls[k]->regions[r], user);
  return true;
}

static void random_programs_are_right_in_waves(void **state) {
  (void)state;
  static written_trial trial; /* its text is long */
  fixture f;
  fixture_open(&f, (sn_options){.threads = 3});
  n_waves = 0;
  for (uint64_t seed = 1; seed <= (case_short() ? 150 : 1500); seed++) {
    const written program = written_of(seed);
    trial = (written_trial){.ctx = f.ctx, .fault = look};
    if (!written_try(&program, &trial)) fail_msg("seed %d: %s", (int)seed, trial.text);
  }
  print_message("%zu waves\n", n_waves);
  assert_true(n_waves > 50);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(independent_kernels_are_one_wave),
      cmocka_unit_test(a_kernel_that_reads_another_is_not_in_its_wave),
      cmocka_unit_test(what_takes_over_memory_is_not_in_the_wave_of_who_reads_it),
      cmocka_unit_test(random_programs_are_right_in_waves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
