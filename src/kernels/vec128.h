/* vec128.h - the compiler's 16-byte vectors for portable loops: f32 x 4, f64 x 2, and integers.
 *
 * Files that exist once per element type are included twice, with TYPE as f32 and f64; they spell
 * names as T(sn_load), which becomes sn_load_f32. */
#ifndef SN_KERNELS_VEC128_H
#define SN_KERNELS_VEC128_H

#include <stdint.h>
#include <string.h>

#define SN_PASTE_(name, type) name##_##type
#define SN_PASTE(name, type) SN_PASTE_(name, type)
#define T(name) SN_PASTE(name, TYPE)

typedef float real_f32;
typedef double real_f64;
typedef float vec_f32 __attribute__((vector_size(16)));
typedef double vec_f64 __attribute__((vector_size(16)));
typedef int8_t vec_bytes __attribute__((vector_size(16)));
typedef int16_t vec_shorts __attribute__((vector_size(16)));
typedef uint16_t vec_ushorts __attribute__((vector_size(16)));
typedef int32_t vec_ints __attribute__((vector_size(16)));
typedef uint32_t vec_words __attribute__((vector_size(16)));
enum { LANES_f32 = 4, LANES_f64 = 2 };

/* Loads and stores at any address that is aligned for an element. */
static inline vec_f32 sn_load_f32(const float *p) {
  vec_f32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline vec_f64 sn_load_f64(const double *p) {
  vec_f64 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void sn_store_f32(float *p, vec_f32 v) { memcpy(p, &v, sizeof v); }
static inline void sn_store_f64(double *p, vec_f64 v) { memcpy(p, &v, sizeof v); }

static inline vec_f32 sn_splat_f32(float x) { return (vec_f32){x, x, x, x}; }
static inline vec_f64 sn_splat_f64(double x) { return (vec_f64){x, x}; }

/* Lane r of the result is the sum of the lanes of v[r]. */
static inline vec_ints sn_sums_of_lanes(const vec_ints v[4]) {
  const vec_ints a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5) +
                     __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const vec_ints b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5) +
                     __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
}

/* Transposes a square in place. */
static inline void sn_transpose_f32(vec_f32 r[4]) {
  const vec_f32 a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  const vec_f32 b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const vec_f32 c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const vec_f32 d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
static inline void sn_transpose_f64(vec_f64 r[2]) {
  const vec_f64 a = r[0];
  r[0] = __builtin_shufflevector(a, r[1], 0, 2);
  r[1] = __builtin_shufflevector(a, r[1], 1, 3);
}

#endif
