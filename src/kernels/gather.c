/* gather.c - gather and scatter: elements are moved from or to the positions that int32 indices name. A
 * negative index counts from the end; one that is still outside is clamped.
 *
 * If one index serves all lines (a table's rows), rows are copied whole. The updates of a position are
 * applied in the order of their indices by the unit that owns it: the same bits for any number of
 * units. */
#include <math.h>
#include <string.h>

#include "kernels/call.h"
#include "kernels/strided.h"

static inline int64_t position_at(const sn_lines *indices, int64_t i, int64_t line, int64_t n) {
  return sn_position(((const int32_t *)indices->data)[i * indices->along + line * indices->across],
                     n);
}

/* ---- copies, by the size of an element ------------------------------------------------------- */

typedef uint8_t bits8;
typedef uint16_t bits16;
typedef uint32_t bits32;
typedef uint64_t bits64;

/* Writes one element n times: copies what is written already behind itself, as much as caches hold. */
static void repeat(void *to, const void *from, size_t item, size_t n) {
  enum { CACHED = 4096 };
  const size_t bytes = n * item;
  if (!n) return;
  memcpy(to, from, item);
  for (size_t done = item, more; done < bytes; done += more) {
    more = done < CACHED ? done : CACHED;
    if (more > bytes - done) more = bytes - done;
    memcpy((char *)to + done, to, more);
  }
}

/* to[k] = from[k across] for the lines of a row; to is contiguous. */
#define DEFINE_GATHER(T)                                                                    \
  static inline void copy_row_##T(T *restrict to, const T *restrict from, int64_t across,   \
                                  int64_t width) {                                          \
    if (across == 1)                                                                        \
      memcpy(to, from, (size_t)width * sizeof(T));                                          \
    else if (across == 0)                                                                   \
      for (int64_t k = 0; k < width; k++) to[k] = *from;                                    \
    else                                                                                    \
      for (int64_t k = 0; k < width; k++) to[k] = from[k * across];                         \
  }                                                                                         \
                                                                                            \
  static void gather_##T(const sn_call_site *s) {                                           \
    const sn_lines *x = &s->in[0], *indices = &s->in[1], *y = &s->out;                      \
    const T *from = (const T *)x->data;                                                     \
    T *to = (T *)y->data;                                                                   \
    if (s->width == 1) {                                                                    \
      for (int64_t i = s->from; i < s->to; i++)                                             \
        to[i * y->along] = from[position_at(indices, i, 0, x->n) * x->along];               \
    } else if (indices->across == 0) {                                                      \
      for (int64_t i = s->from; i < s->to; i++)                                             \
        copy_row_##T(to + i * y->along, from + position_at(indices, i, 0, x->n) * x->along, \
                     x->across, s->width);                                                  \
    } else {                                                                                \
      for (int64_t i = s->from; i < s->to; i++)                                             \
        for (int64_t k = 0; k < s->width; k++)                                              \
          to[i * y->along + k] =                                                            \
              from[position_at(indices, i, k, x->n) * x->along + k * x->across];            \
    }                                                                                       \
  }

#define DEFINE_COPIES(T)                                                         \
  DEFINE_GATHER(T)                                                               \
  static void copy_rows_##T(const sn_call_site *s) {                             \
    const sn_lines *x = &s->in[0], *y = &s->out;                                 \
    const T *from = (const T *)x->data + s->from * x->along;                     \
    T *to = (T *)y->data + s->from * y->along;                                   \
    const int64_t rows = s->to - s->from;                                        \
    if (y->along == s->width && x->along == 0 && x->across == 0) {               \
      repeat(to, from, sizeof(T), (size_t)(rows * s->width));                    \
      return;                                                                    \
    }                                                                            \
    if (s->width == 1 && y->along == 1) {                                        \
      copy_row_##T(to, from, x->along, rows);                                    \
      return;                                                                    \
    }                                                                            \
    for (int64_t i = 0; i < rows; i++)                                           \
      copy_row_##T(to + i * y->along, from + i * x->along, x->across, s->width); \
  }

DEFINE_COPIES(bits8)
DEFINE_GATHER(bits16)
DEFINE_COPIES(bits32)
DEFINE_COPIES(bits64)

void sn_gather_lines(const sn_call_site *site) {
  switch (sn_dtype_bytes(site->dtype)) {
  case 1: gather_bits8(site); break;
  case 2: gather_bits16(site); break;
  case 4: gather_bits32(site); break;
  default: gather_bits64(site); break;
  }
}

/* ---- updates --------------------------------------------------------------------------------- */

/* An element after an update. +0 is larger than -0, as for maximum. */
#define DEFINE_UPDATED(name, T)                        \
  static inline T name(sn_op op, T old, T new) {       \
    switch (op) {                                      \
    case SN_OP_scatter_add: return old + new;          \
    case SN_OP_scatter_mul: return old * new;          \
    case SN_OP_scatter_max:                            \
      if (old == new) return signbit(old) ? new : old; \
      return new < old || isnan(old) ? old : new;      \
    case SN_OP_scatter_min:                            \
      if (old == new) return signbit(old) ? old : new; \
      return old < new || isnan(old) ? old : new;      \
    default: return new;                               \
    }                                                  \
  }

DEFINE_UPDATED(updated_f32, float)
DEFINE_UPDATED(updated_f64, double)

static inline uint32_t updated_i32(sn_op op, uint32_t old, uint32_t new) {
  switch (op) {
  case SN_OP_scatter_add: return old + new;
  case SN_OP_scatter_mul: return old * new;
  case SN_OP_scatter_max: return (int32_t)old > (int32_t) new ? old : new;
  case SN_OP_scatter_min: return (int32_t)old < (int32_t) new ? old : new;
  case SN_OP_scatter_or: return old | new;
  default: return new;
  }
}

static inline uint8_t updated_bool(sn_op op, uint8_t old, uint8_t new) {
  (void)op; /* set only */
  (void)old;
  return new;
}

/* Only loops over a row of updates gain from the compiler's vectorizer. WebAssembly's code, which a page downloads, has it
 * on for these alone (CMakeLists.txt). */
#ifdef __clang__
#define IN_VECTORS _Pragma("clang loop vectorize(enable)")
#else
#define IN_VECTORS
#endif

/* Applies the updates whose positions are this unit's, by an op that is a constant here. */
#define DEFINE_UPDATE(type, T)                                                                   \
  static inline                                                                                  \
      __attribute__((always_inline)) void update_##type(const sn_call_site *s, const sn_op op) { \
    const sn_lines *indices = &s->in[1], *updates = &s->in[2], *y = &s->out;                     \
    const int64_t n = y->n, width = s->width, from = s->from, to = s->to;                        \
    const bool by_rows = width > 1 && indices->across == 0 && updates->across == 1;              \
    if (width == 1) {                                                                            \
      const int32_t *index = (const int32_t *)indices->data;                                     \
      const T *update = (const T *)updates->data;                                                \
      T *to_line = (T *)y->data;                                                                 \
      const int64_t step = indices->along, next = updates->along, apart = y->along;              \
      for (int64_t i = 0, count = indices->n; i < count; i++) {                                  \
        const int64_t at = sn_position(index[i * step], n);                                      \
        if (at < from || at >= to) continue;                                                     \
        to_line[at * apart] = updated_##type(op, to_line[at * apart], update[i * next]);         \
      }                                                                                          \
      return;                                                                                    \
    }                                                                                            \
    for (int64_t i = 0; i < indices->n; i++) {                                                   \
      const T *restrict update = (const T *)updates->data + i * updates->along;                  \
      if (by_rows) {                                                                             \
        const int64_t at = position_at(indices, i, 0, n);                                        \
        if (at < from || at >= to) continue;                                                     \
        T *restrict row = (T *)y->data + at * y->along;                                          \
        IN_VECTORS                                                                               \
        for (int64_t k = 0; k < width; k++) row[k] = updated_##type(op, row[k], update[k]);      \
        continue;                                                                                \
      }                                                                                          \
      for (int64_t k = 0; k < width; k++) {                                                      \
        const int64_t at = position_at(indices, i, k, n);                                        \
        if (at < from || at >= to) continue;                                                     \
        T *element = (T *)y->data + at * y->along + k;                                           \
        *element = updated_##type(op, *element, update[k * updates->across]);                    \
      }                                                                                          \
    }                                                                                            \
  }

#define DEFINE_UPDATE_EACH(type)                                        \
  static void update_each_##type(const sn_call_site *s) {               \
    switch (s->call->op) {                                              \
    case SN_OP_scatter_add: update_##type(s, SN_OP_scatter_add); break; \
    case SN_OP_scatter_mul: update_##type(s, SN_OP_scatter_mul); break; \
    case SN_OP_scatter_max: update_##type(s, SN_OP_scatter_max); break; \
    case SN_OP_scatter_min: update_##type(s, SN_OP_scatter_min); break; \
    default: update_##type(s, SN_OP_scatter_set); break;                \
    }                                                                   \
  }

DEFINE_UPDATE(bool, uint8_t)
DEFINE_UPDATE(f32, float)
DEFINE_UPDATE(f64, double)
DEFINE_UPDATE(i32, uint32_t)
DEFINE_UPDATE_EACH(f32)
DEFINE_UPDATE_EACH(f64)
DEFINE_UPDATE_EACH(i32)

/* Copies the elements that are to be updated, unless they are updated in place. */
static void copy_rows(const sn_call_site *site) {
  if (site->in[0].data == site->out.data) return;
  switch (sn_dtype_bytes(site->dtype)) {
  case 1: copy_rows_bits8(site); break;
  case 4: copy_rows_bits32(site); break;
  default: copy_rows_bits64(site); break;
  }
}

void sn_scatter_lines(const sn_call_site *site) {
  copy_rows(site);
  switch (site->dtype) {
  case SN_F32: update_each_f32(site); break;
  case SN_I32:
    if (site->call->op == SN_OP_scatter_or)
      update_i32(site, SN_OP_scatter_or);
    else
      update_each_i32(site);
    break;
  case SN_F64: update_each_f64(site); break;
  default: update_bool(site, SN_OP_scatter_set); break;
  }
}
