/* test_poison.c - memory filled with NaN before it is written (run/poison.h): right programs give
 * the same bits; faults planted into a program's kernels, which the contents of memory from the previous
 * run would hide, show as NaN. */
#include "api_support.h"

#include <math.h>

#include "run/poison.h"
#include "tensor/tensor.h"

enum { N = 24, POINTS = N * N };

/* y = (x x)(x x)': two kernels, one intermediate in the arena. */
typedef struct product {
  sn_program *program;
  sn_tensor *x;
  sn_executable *exe;
} product;

static product product_of(void) {
  product p;
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(N, N)), *square = sn_matmul(in, in);
  sn_tensor *y = sn_matmul(square, sn_transpose(square, (int[]){1, 0}));
  assert_int_equal(sn_compile(f.ctx, &in, 1, &y, 1, NULL, &p.program), SN_OK);
  p.x = ramp(f.ctx, DIMS(N, N), 0.25f);
  p.exe = f.ctx->cache[f.ctx->n_cached - 1]->exe;
  assert_int_equal(p.exe->n_kernels, 2);
  return p;
}

/* Elements of the result that are NaN; the result goes to y. */
static int run_product(const product *p, float *y) {
  sn_tensor *x = p->x, *out;
  int bad = 0;
  assert_int_equal(sn_program_run(p->program, &x, &out), SN_OK);
  assert_int_equal(sn_read(out, y, POINTS * sizeof *y), SN_OK);
  for (int i = 0; i < POINTS; i++) bad += isnan(y[i]);
  return bad;
}

/* The last stage of a kernel leaves its last unit out: stores are missing. */
static int planted_stop(const product *p, size_t kernel, float *y) {
  sn_kernel *k = &p->exe->kernels[kernel];
  int64_t *units = &k->stages[k->n_stages - 1].units;
  --*units;
  const int bad = run_product(p, y);
  ++*units;
  return bad;
}

static void a_missing_store_is_seen(void **state) {
  (void)state;
  product p = product_of();
  static float right[POINTS], wrong[POINTS];
  for (size_t kernel = 0; kernel < 2; kernel++) {
    sn_set_poison(f.ctx, false);
    assert_int_equal(run_product(&p, right), 0);
    if (kernel == 0) { /* what the run before left in the arena hides it */
      assert_int_equal(planted_stop(&p, kernel, wrong), 0);
      assert_memory_equal(wrong, right, sizeof right);
    }
    sn_set_poison(f.ctx, true);
    assert_true(planted_stop(&p, kernel, wrong) > 0);
    assert_int_equal(run_product(&p, wrong), 0);
    assert_memory_equal(wrong, right, sizeof right);
  }
  sn_program_release(p.program);
}

/* The second kernel reads in the arena where nobody writes. */
static void a_read_of_what_nobody_wrote_is_seen(void **state) {
  (void)state;
  product p = product_of();
  static float y[POINTS];
  sn_set_poison(f.ctx, true);
  assert_int_equal(run_product(&p, y), 0);
  p.exe->kernels[0].n_stages = 0;
  assert_int_equal(run_product(&p, y), POINTS);
  sn_program_release(p.program);
}

static void new_memory_is_filled(void **state) {
  (void)state;
  const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32, SN_BOOL, SN_F16, SN_BF16};
  sn_set_poison(f.ctx, true);
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    void *data;
    sn_tensor *t = sn_empty(f.ctx, dtypes[i], DIMS(3), &data);
    uint8_t expected[3 * sizeof(double)];
    sn_poison(expected, sn_size_bytes(t));
    assert_memory_equal(data, expected, sn_size_bytes(t));
  }
  uint32_t words[2] = {SN_POISON_WORD, SN_POISON_WORD};
  float single;
  double wide;
  memcpy(&single, words, sizeof single);
  memcpy(&wide, words, sizeof wide);
  assert_true(isnan(single) && isnan(wide));
  uint8_t odd[7];
  sn_poison(odd, sizeof odd);
  assert_memory_equal(odd, words, sizeof odd);
}

/* A value written in place keeps what it is made of; one in a donated argument that was read before
 * does not. */
static void what_is_read_in_place_stays(void **state) {
  (void)state;
  sn_set_poison(f.ctx, true);
  sn_tensor *in = sn_placeholder(f.ctx, SN_F32, DIMS(N, N)),
            *total = sn_sum(in, SN_ALL_AXES, false);
  sn_tensor *outs[] = {sn_add(in, total), sn_matmul(in, in)};
  sn_program *program;
  const bool donate = true;
  assert_int_equal(sn_compile(f.ctx, &in, 1, outs, 2, &donate, &program), SN_OK);
  sn_tensor *x = sn_full(f.ctx, SN_F32, DIMS(N, N), 1), *got[2];
  assert_int_equal(sn_program_run(program, &x, got), SN_OK);
  for (int i = 0; i < POINTS; i++) {
    assert_true(((const float *)sn_data(got[0]))[i] == POINTS + 1);
    assert_true(((const float *)sn_data(got[1]))[i] == N);
  }
  sn_program_release(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_missing_store_is_seen),
      TEST(a_read_of_what_nobody_wrote_is_seen),
      TEST(new_memory_is_filled),
      TEST(what_is_read_in_place_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
