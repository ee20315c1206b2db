#include "kernels/strided.h"

#include <string.h>

#include "kernels/elements.h"

/* Position in the space: index per dimension, and the operand's offset there. */
typedef struct cursor {
  const int64_t *dims, *strides;
  int rank;
  int64_t index[SN_MAX_RANK];
  int64_t at;
} cursor;

static cursor cursor_at(const sn_operand *o, const int64_t *dims, int rank, int64_t flat) {
  cursor c = {.dims = dims, .strides = o->strides, .rank = rank, .at = o->offset};
  for (int i = rank - 1; i >= 0; i--) {
    if (i == 0 || dims[i] == 0) {
      c.index[i] = flat;
      flat = 0;
    } else {
      c.index[i] = flat % dims[i];
      flat /= dims[i];
    }
    c.at += c.index[i] * o->strides[i];
  }
  return c;
}

/* Elements until the innermost dimension wraps, at most n; *stride between them. */
static int64_t run_length(const cursor *c, int64_t n, int64_t *stride) {
  *stride = c->rank ? c->strides[c->rank - 1] : 0;
  if (!c->rank) return n;
  const int64_t left = c->dims[c->rank - 1] - c->index[c->rank - 1];
  return left < n ? left : n;
}

static void advance(cursor *c, int64_t steps) {
  if (!c->rank) return;
  int i = c->rank - 1;
  c->index[i] += steps;
  c->at += steps * c->strides[i];
  while (i > 0 && c->index[i] == c->dims[i]) {
    c->at -= c->dims[i] * c->strides[i];
    c->index[i] = 0;
    i--;
    c->index[i]++;
    c->at += c->strides[i];
  }
}

static void read_run32(uint32_t *to, const uint32_t *from, int64_t stride, int64_t n) {
  if (stride == 1)
    memcpy(to, from, (size_t)n * sizeof *to);
  else if (stride == 0) /* a loop of its own, as it becomes vectors */
    for (int64_t i = 0; i < n; i++) to[i] = *from;
  else
    for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
}

static void read_run64(uint64_t *to, const uint64_t *from, int64_t stride, int64_t n) {
  if (stride == 1)
    memcpy(to, from, (size_t)n * sizeof *to);
  else
    for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
}

#define READ_EACH(T, of)                       \
  for (int64_t i = 0; i < n; i++) {            \
    const T x = ((const T *)from)[i * stride]; \
    ((int32_t *)to)[i] = (of);                 \
  }                                            \
  break

void sn_gather_run(sn_dtype dtype, void *to, const void *from, int64_t stride, int64_t n) {
  switch (dtype) {
  case SN_F32:
  case SN_I32: read_run32(to, from, stride, n); break;
  case SN_F64: read_run64(to, from, stride, n); break;
  case SN_BOOL: READ_EACH(uint8_t, -(x != 0));
  case SN_F16:
  case SN_BF16: READ_EACH(uint16_t, x);
  case SN_I8: READ_EACH(int8_t, x);
  case SN_U8: READ_EACH(uint8_t, x);
  }
}

void *sn_gather_in_place(const sn_operand *o, const int64_t *dims, int rank, int64_t flat,
                         int64_t n, void *base) {
  const int last = rank - 1;
  if (last < 0 || o->strides[last] != 1 || !sn_strip_is_memory(o->dtype)) return NULL;
  if (flat % dims[last] + n > dims[last]) return NULL;
  return sn_element_mutable(base, o->offset + sn_offset_at(dims, o->strides, rank, flat),
                            sn_dtype_bytes(o->dtype));
}

void sn_gather(const sn_operand *o, const int64_t *dims, int rank, int64_t flat, int64_t n,
               const void *base, void *strip) {
  cursor c = cursor_at(o, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    sn_gather_run(o->dtype, sn_element_mutable(strip, done, sn_strip_bytes(o->dtype)),
                  sn_element(base, c.at, sn_dtype_bytes(o->dtype)), stride, run);
    done += run;
    advance(&c, run);
  }
}

/* One place for a run, unless the index changes along it. */
void sn_gather_lookup(const sn_operand *o, const sn_indexing *place, const int64_t *dims, int rank,
                      int64_t flat, int64_t n, const void *base, const void *indices, void *strip) {
  cursor c = cursor_at(o, dims, rank, flat), index = cursor_at(&place->index, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride, step;
    int64_t run = run_length(&c, n - done, &stride);
    run_length(&index, n - done, &step);
    if (step) run = 1;
    const int64_t at = sn_position(((const int32_t *)indices)[index.at], place->length);
    sn_gather_run(o->dtype, sn_element_mutable(strip, done, sn_strip_bytes(o->dtype)),
                  sn_element(base, c.at + at * place->stride, sn_dtype_bytes(o->dtype)), stride,
                  run);
    done += run;
    advance(&c, run);
    advance(&index, run);
  }
}

void sn_gather_single(const sn_operand *o, const void *base, void *strip, int64_t n) {
  sn_gather_run(o->dtype, strip, sn_element(base, o->offset, sn_dtype_bytes(o->dtype)), 0, n);
}

static void index_run(sn_dtype dtype, void *strip, int64_t done, int64_t at, int64_t stride,
                      int64_t n) {
  if (dtype == SN_F32)
    for (int64_t i = 0; i < n; i++) ((float *)strip)[done + i] = (float)(at + i * stride);
  else if (dtype == SN_F64)
    for (int64_t i = 0; i < n; i++) ((double *)strip)[done + i] = (double)(at + i * stride);
  else
    for (int64_t i = 0; i < n; i++) ((int32_t *)strip)[done + i] = (int32_t)(at + i * stride);
}

void sn_gather_index(const sn_operand *o, const int64_t *dims, int rank, int64_t flat, int64_t n,
                     void *strip) {
  cursor c = cursor_at(o, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    index_run(o->dtype, strip, done, c.at, stride, run);
    done += run;
    advance(&c, run);
  }
}

static void write_run32(uint32_t *to, const uint32_t *from, int64_t stride, int64_t n) {
  if (stride == 1)
    memcpy(to, from, (size_t)n * sizeof *to);
  else
    for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];
}

static void write_run64(uint64_t *to, const uint64_t *from, int64_t stride, int64_t n) {
  if (stride == 1)
    memcpy(to, from, (size_t)n * sizeof *to);
  else
    for (int64_t i = 0; i < n; i++) to[i * stride] = from[i];
}

#define WRITE_EACH(T, of)                                               \
  for (int64_t i = 0; i < n; i++) ((T *)to)[i * stride] = (T)((of)[i]); \
  break

static void write_run(const sn_strips *strips, sn_dtype dtype, void *to, const void *from,
                      int64_t stride, int64_t n) {
  const int32_t *bits = from;
  switch (dtype) {
  case SN_F32:
  case SN_I32: write_run32(to, from, stride, n); break;
  case SN_F64: write_run64(to, from, stride, n); break;
  case SN_BOOL:
    if (stride != 1) {
      for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i * stride] = bits[i] & 1;
      break;
    }
    strips->mask_store(to, from, from, from, n);
    break;
  case SN_F16:
  case SN_BF16: WRITE_EACH(uint16_t, bits);
  case SN_I8:
  case SN_U8: WRITE_EACH(uint8_t, bits);
  }
}

void sn_store_strided(const sn_strips *strips, const sn_operand *o, bool linear,
                      const int64_t *dims, int rank, int64_t flat, int64_t n, const void *strip,
                      void *base) {
  const size_t item = sn_dtype_bytes(o->dtype);
  if (linear) {
    write_run(strips, o->dtype, sn_element_mutable(base, o->offset + flat, item), strip, 1, n);
    return;
  }
  cursor c = cursor_at(o, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    write_run(strips, o->dtype, sn_element_mutable(base, c.at, item),
              sn_element(strip, done, sn_strip_bytes(o->dtype)), stride, run);
    done += run;
    advance(&c, run);
  }
}
