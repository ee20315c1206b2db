/* math_table.c - measures how far Sinter's functions are from the exact results, and whether that is
 * within the ULP that their rows of ops.def state.
 *
 * math_table --names prints the functions. math_table STEP FUNCTION prints a line of
 * docs/accuracy.md: float32 over every STEP-th of all 2^32 arguments (of two arguments as many
 * pairs), float64 on samples; exit status 1: a bound is broken.
 *
 * scripts/accuracy.mjs makes the document from these lines.
 *
 * The exact results are those of math_reference.h, in double for float32 and in long double for
 * float64. */
#include "math_rows.h"

#include <stdio.h>
#include <stdlib.h>

enum { F64_SAMPLES = 1 << 21 };

#ifndef TABLE_FUSED
#define TABLE_FUSED false
#endif

typedef struct worst {
  double ulp, x, y;
  uint64_t over_half; /* results that are not the correctly rounded ones have an error above 0.5 */
  uint64_t count;
} worst;

static void note(worst *w, double ulp, double x, double y) {
  w->count++;
  w->over_half += ulp > 0.5;
  if (ulp > w->ulp) {
    w->ulp = ulp;
    w->x = x;
    w->y = y;
  }
}

static worst sweep_f32(const math_row *row, uint64_t step) {
  worst w = {0};
  const bool pairs = sn_op_describe(row->op)->arity == 2;
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
    float x[SN_LANES_F32], y[SN_LANES_F32] = {0}, got[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++, bits += step) {
      x[lane] = sn_f32_from_bits((uint32_t)bits);
      if (pairs) y[lane] = (float)second_argument(row->op, (double)x[lane], true, bits);
    }
    (TABLE_FUSED ? row->fused_vf32 : row->vf32)(x, y, got);
    for (int i = 0; i < SN_LANES_F32; i++)
      if (reference_has_meaning((int)row->op, true, (double)x[i], (double)y[i]))
        note(&w, ulp_f32(got[i], math_meanings[row->op].f32((double)x[i], (double)y[i])),
             (double)x[i], (double)y[i]);
  }
  return w;
}

static worst sweep_f64(const math_row *row) {
  worst w = {0};
  const bool pairs = sn_op_describe(row->op)->arity == 2;
  for (uint64_t at = 0; at < F64_SAMPLES;) {
    double x[SN_LANES_F64], y[SN_LANES_F64] = {0}, got[SN_LANES_F64];
    for (int lane = 0; lane < SN_LANES_F64; lane++, at++) {
      x[lane] = sample_f64(at);
      if (pairs) y[lane] = second_argument(row->op, x[lane], false, at);
    }
    row->vf64(x, y, got);
    for (int i = 0; i < SN_LANES_F64; i++)
      if (reference_has_meaning((int)row->op, false, x[i], y[i]))
        note(&w, ulp_f64(got[i], math_meanings[row->op].f64((long double)x[i], (long double)y[i])),
             x[i], y[i]);
  }
  return w;
}

/* True if the row keeps its bound in both types. */
static bool print_row(const math_row *row, uint64_t step) {
  const sn_op_info *op = sn_op_describe(row->op);
  const double bound = sn_op_bounds_table[row->op].ulp;
  const worst single = sweep_f32(row, step), wide = sweep_f64(row);
  printf("| %s | %g | %.4f | %.3f %% | %a", op->name, bound, single.ulp,
         100 * (1 - (double)single.over_half / (double)single.count), single.x);
  if (op->arity == 2) printf(", %a", single.y);
  printf(" | %.4f |\n", wide.ulp);
  fflush(stdout);
  return single.ulp <= bound && wide.ulp <= bound;
}

int main(int argc, char **argv) {
  const bool names = argc == 2 && strcmp(argv[1], "--names") == 0;
  const uint64_t step = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
  if (!names && step == 0) {
    fprintf(stderr, "usage: math_table step function | --names\n");
    return 2;
  }
  for (size_t i = 0; i < MATH_ROW_COUNT; i++) {
    const char *name = sn_op_describe(math_rows[i].op)->name;
    if (!math_row_is_function(&math_rows[i])) continue;
    if (names)
      puts(name);
    else if (strcmp(argv[2], name) == 0)
      return print_row(&math_rows[i], step) ? 0 : 1;
  }
  return names ? 0 : 2;
}
