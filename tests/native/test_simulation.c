/* test_simulation.c - the building simulation: 20 unrolled steps of a heated floor, written with
 * scalars and with vectors of five, and its gradient. Either way a compiled call is one kernel, and
 * its numbers agree with an independent float64 evaluation. */
#include "api_support.h"

#include <math.h>

enum { STEPS = 20 };

/* tube: spacing, diameter, thickness, resistivity; slab: temp, area, Cp, density, thickness;
 * quanta: power, temp, flow, density, Cp; tank: temp, volume, Cp, density, mass */
enum { TUBE, SLAB, QUANTA, TANK, START, N_ARGUMENTS };
static const double parameters[4][5] = {
    {.50292, .019, .001588, 2.43, 0},
    {21.1111111, 100, .2, 2242.58, .101},
    {0, 60, .0006309, 1000, 4180},
    {70, .0757082, 4180, 1000, 75.708},
};
static const double loss_expected = 10.634975130093931;
/* by the starting temperature, tube spacing and thickness, slab Cp, tank temperature */
static const double gradient_expected[] = {0.8725142030644532, -8.722791744336112,
                                           -2762.510342608008, -21.9151195589128,
                                           0.12758713519148412};

static sn_tensor *number(sn_dtype dtype, double value) {
  return sn_full(f.ctx, dtype, 0, NULL, value);
}

/* ---- with scalars ---------------------------------------------------------------------------- */

#define ADD(a, b) sn_add(a, b)
#define SUB(a, b) sn_sub(a, b)
#define MUL(a, b) sn_mul(a, b)
#define DIV(a, b) sn_div(a, b)

typedef struct house {
  sn_tensor *tube[5], *slab[5], *quanta[5], *tank[5];
} house;

/* quanta.temp after its power has worked for dt */
static sn_tensor *heated(const house *h, sn_tensor *temp, sn_tensor *power, sn_tensor *dt) {
  return ADD(temp,
             DIV(DIV(MUL(power, dt), h->quanta[4]), MUL(MUL(h->quanta[2], dt), h->quanta[3])));
}

static sn_tensor *simulate(const house *h, sn_tensor *start, sn_dtype dtype) {
  sn_tensor *dt = number(dtype, 0.1), *slab = start, *quanta = h->quanta[1], *tank = h->tank[0];
  for (int i = 0; i < STEPS; i++) {
    sn_tensor *power = MUL(MUL(MUL(SUB(tank, quanta), h->quanta[2]), h->quanta[3]), h->quanta[4]);
    tank = ADD(tank, DIV(DIV(MUL(power, dt), h->tank[2]), MUL(h->tank[1], h->tank[3])));
    quanta = heated(h, quanta, power, dt);
    sn_tensor *area =
        MUL(MUL(DIV(h->slab[1], h->tube[0]), number(dtype, 3.14159265358979323846)), h->tube[1]);
    sn_tensor *resistance = DIV(MUL(MUL(number(dtype, 10), h->tube[3]), h->tube[2]), area);
    sn_tensor *load = DIV(SUB(slab, quanta), resistance);
    quanta = heated(h, quanta, load, dt);
    slab = ADD(slab, DIV(DIV(MUL(sn_neg(load), dt), h->slab[2]),
                         MUL(MUL(h->slab[1], h->slab[4]), h->slab[3])));
  }
  return sn_abs(SUB(slab, number(dtype, 27.344767)));
}

static sn_tensor *element(sn_tensor *v, int64_t i) {
  return sn_reshape(sn_slice(v, &i, (const int64_t[]){1}, (const int64_t[]){1}), 0, NULL);
}

/* ---- with vectors of five and masks ---------------------------------------------------------- */

static sn_tensor *mask(int at) {
  sn_tensor *index = sn_iota(f.ctx, SN_I32, DIMS(5), 0);
  return sn_equal(index, sn_full(f.ctx, SN_I32, 0, NULL, at));
}

static sn_tensor *with(sn_tensor *v, int at, sn_tensor *value) {
  return sn_where(mask(at), sn_broadcast_to(value, DIMS(5)), v);
}

static sn_tensor *heated_vector(sn_tensor *quanta, sn_tensor *dt) {
  sn_tensor *rise = DIV(DIV(MUL(element(quanta, 0), dt), element(quanta, 4)),
                        MUL(MUL(element(quanta, 2), dt), element(quanta, 3)));
  return with(with(quanta, 1, ADD(element(quanta, 1), rise)), 0, number(sn_dtype_of(quanta), 0));
}

static sn_tensor *simulate_vectors(sn_tensor *const *v, sn_dtype dtype) {
  sn_tensor *dt = number(dtype, 0.1), *tube = v[TUBE], *quanta = v[QUANTA], *tank = v[TANK];
  sn_tensor *slab = with(v[SLAB], 0, v[START]);
  for (int i = 0; i < STEPS; i++) {
    sn_tensor *power = MUL(
        MUL(MUL(SUB(element(tank, 0), element(quanta, 1)), element(quanta, 2)), element(quanta, 3)),
        element(quanta, 4));
    quanta = with(quanta, 0, power);
    tank = with(tank, 0,
                ADD(element(tank, 0), DIV(DIV(MUL(power, dt), element(tank, 2)),
                                          MUL(element(tank, 1), element(tank, 3)))));
    quanta = heated_vector(quanta, dt);
    sn_tensor *area =
        MUL(MUL(DIV(element(slab, 1), element(tube, 0)), number(dtype, 3.14159265358979323846)),
            element(tube, 1));
    sn_tensor *resistance =
        DIV(MUL(MUL(number(dtype, 10), element(tube, 3)), element(tube, 2)), area);
    sn_tensor *load = DIV(SUB(element(slab, 0), element(quanta, 1)), resistance);
    quanta = heated_vector(with(quanta, 0, load), dt);
    sn_tensor *rise = DIV(DIV(MUL(sn_neg(load), dt), element(slab, 2)),
                          MUL(MUL(element(slab, 1), element(slab, 4)), element(slab, 3)));
    slab = with(slab, 0, ADD(element(slab, 0), rise));
  }
  return sn_abs(SUB(element(slab, 0), number(dtype, 27.344767)));
}

/* ---- both ------------------------------------------------------------------------------------ */

static sn_tensor *loss_of(sn_tensor *const *v, bool vectors, sn_dtype dtype) {
  if (vectors) return simulate_vectors(v, dtype);
  house h;
  for (int i = 0; i < 5; i++) {
    h.tube[i] = element(v[TUBE], i);
    h.slab[i] = element(v[SLAB], i);
    h.quanta[i] = element(v[QUANTA], i);
    h.tank[i] = element(v[TANK], i);
  }
  return simulate(&h, v[START], dtype);
}

static sn_tensor *argument(sn_dtype dtype, int which) {
  void *data;
  sn_tensor *t = which == START ? sn_empty(f.ctx, dtype, 0, NULL, &data)
                                : sn_empty(f.ctx, dtype, DIMS(5), &data);
  const double start = 33.3, *from = which == START ? &start : parameters[which];
  for (int i = 0; i < (which == START ? 1 : 5); i++) {
    if (dtype == SN_F64)
      ((double *)data)[i] = from[i];
    else
      ((float *)data)[i] = (float)from[i];
  }
  return t;
}

static double value_at(sn_tensor *t, int i) {
  const void *data = sn_data(t);
  return sn_dtype_of(t) == SN_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void check(double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance * fabs(expected)))
    fail_msg("got %.17g, expected %.17g", got, expected);
}

static sn_program *compile_gradient(bool vectors, sn_dtype dtype) {
  sn_tensor *in[N_ARGUMENTS], *out[1 + N_ARGUMENTS];
  for (int i = 0; i < N_ARGUMENTS; i++)
    in[i] =
        i == START ? sn_placeholder(f.ctx, dtype, 0, NULL) : sn_placeholder(f.ctx, dtype, DIMS(5));
  sn_tensor *variables[N_ARGUMENTS];
  for (int i = 0; i < N_ARGUMENTS; i++) variables[i] = sn_variable(in[i]);
  out[0] = loss_of(variables, vectors, dtype);
  assert_int_equal(sn_gradients(out[0], variables, N_ARGUMENTS, out + 1), SN_OK);
  sn_program *program = NULL;
  assert_int_equal(sn_compile(f.ctx, in, N_ARGUMENTS, out, 1 + N_ARGUMENTS, NULL, &program), SN_OK);
  return program;
}

static void loss_and_gradient(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    const sn_dtype dtype = way / 2 ? SN_F32 : SN_F64;
    const double tolerance = dtype == SN_F64 ? 1e-10 : 1e-3;
    sn_program *program = compile_gradient(way % 2, dtype);
    sn_program_info info;
    sn_program_describe(program, &info);
    assert_int_equal(info.kernels, 1);
    assert_int_equal(info.arena_bytes, 0);
    sn_tensor *in[N_ARGUMENTS], *out[1 + N_ARGUMENTS];
    for (int i = 0; i < N_ARGUMENTS; i++) in[i] = argument(dtype, i);
    assert_int_equal(sn_program_run(program, in, out), SN_OK);
    check(value_at(out[0], 0), loss_expected, tolerance);
    check(value_at(out[1 + START], 0), gradient_expected[0], tolerance);
    check(value_at(out[1 + TUBE], 0), gradient_expected[1], tolerance);
    check(value_at(out[1 + TUBE], 2), gradient_expected[2], tolerance);
    check(value_at(out[1 + SLAB], 2), gradient_expected[3], tolerance);
    check(value_at(out[1 + TANK], 0), gradient_expected[4], tolerance);
    print_message("%s, %s: %zu nodes\n", way % 2 ? "vectors" : "scalars",
                  dtype == SN_F64 ? "float64" : "float32", (size_t)info.nodes);
    sn_program_release(program);
  }
}

/* Switched off, the program of vectors is many kernels with the same values. */
static void without_taking_apart(void **state) {
  (void)state;
  assert_int_equal(sn_pass_enable(f.ctx, "scalars", false), SN_OK);
  sn_program *program = compile_gradient(true, SN_F64);
  sn_program_info info;
  sn_program_describe(program, &info);
  assert_true(info.kernels > 100);
  sn_tensor *in[N_ARGUMENTS], *out[1 + N_ARGUMENTS];
  for (int i = 0; i < N_ARGUMENTS; i++) in[i] = argument(SN_F64, i);
  assert_int_equal(sn_program_run(program, in, out), SN_OK);
  check(value_at(out[0], 0), loss_expected, 1e-10);
  check(value_at(out[1 + TUBE], 2), gradient_expected[2], 1e-10);
  sn_program_release(program);
  assert_int_equal(sn_pass_enable(f.ctx, "scalars", true), SN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(loss_and_gradient),
      TEST(without_taking_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
