/* math_table.c - prints, as a markdown table, the largest error in ULP of each of Sinter's own
 * float32 functions over all 2^32 arguments, against float64 libm; pow: as many pairs.
 *
 *   math_table [step [function]]     every step-th argument (default 1), one function (default:
 * all) */
#include "kernels/simd.h"
#include "math_reference.h"

#include <stdio.h>
#include <stdlib.h>

typedef vf32 (*vector_function)(vf32 x);
typedef double (*exact_function)(double x);

typedef struct {
  double ulp;
  float x, y;
  uint64_t over_half; /* results that are not the correctly rounded ones have an error above 0.5 */
  uint64_t count;
} worst;

static void note(worst *w, float got, double exact, float x, float y) {
  const double ulp = ulp_f32(got, exact);
  w->count++;
  w->over_half += ulp > 0.5;
  if (ulp > w->ulp) {
    w->ulp = ulp;
    w->x = x;
    w->y = y;
  }
}

static worst sweep(vector_function ours, exact_function exact, uint64_t step) {
  worst w = {0};
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
    float x[SN_LANES_F32], got[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++, bits += step)
      x[lane] = float_of((uint32_t)bits);
    sn_vf32_store(got, ours(sn_vf32_load(x)));
    for (int lane = 0; lane < SN_LANES_F32; lane++)
      note(&w, got[lane], exact((double)x[lane]), x[lane], 0);
  }
  return w;
}

static worst sweep_pow(uint64_t step) {
  worst w = {0};
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
    float x[SN_LANES_F32], y[SN_LANES_F32], got[SN_LANES_F32];
    for (int lane = 0; lane < SN_LANES_F32; lane++, bits += step) {
      x[lane] = float_of((uint32_t)bits);
      y[lane] = pow_exponent(x[lane], bits);
    }
    sn_vf32_store(got, sn_vf32_pow(sn_vf32_load(x), sn_vf32_load(y)));
    for (int lane = 0; lane < SN_LANES_F32; lane++)
      note(&w, got[lane], pow((double)x[lane], (double)y[lane]), x[lane], y[lane]);
  }
  return w;
}

static void print_row(const char *name, int arity, worst w) {
  printf("| %s | %.4f | %.4f %% | ", name, w.ulp,
         100 * (1 - (double)w.over_half / (double)w.count));
  if (arity == 1)
    printf("%a |\n", (double)w.x);
  else
    printf("%a, %a |\n", (double)w.x, (double)w.y);
  fflush(stdout);
}

int main(int argc, char **argv) {
  const uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const char *only = argc > 2 ? argv[2] : NULL;
  if (step == 0) {
    fprintf(stderr, "usage: math_table [step [function]]\n");
    return 2;
  }
  printf("| function | max error, ULP | correctly rounded | worst at |\n|---|---|---|---|\n");
#define ROW(name, exact, exactl, bound, bound64) \
  if (!only || !strcmp(only, #name)) print_row(#name, 1, sweep(sn_vf32_##name, exact, step));
  MATH_UNARY(ROW)
#undef ROW
  if (!only || !strcmp(only, "pow")) print_row("pow", 2, sweep_pow(step));
  return 0;
}
