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

static cursor cursor_at(const sn_operand *o, int64_t offset, const int64_t *dims, int rank,
                        int64_t flat) {
  cursor c;
  c.dims = dims;
  c.strides = o->strides;
  c.rank = rank;
  c.at = offset;
  for (int i = rank - 1; i >= 0; i--) {
    if (i == 0 || dims[i] == 0) {
      c.index[i] = flat;
      flat = 0;
    } else if (((flat | dims[i]) >> 32) == 0) { /* a division that takes a third of the time */
      c.index[i] = (uint32_t)flat % (uint32_t)dims[i];
      flat = (uint32_t)flat / (uint32_t)dims[i];
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

/* A case for each dtype of storage, of whose rows in dtypes.def the others make nothing. */
#define OF_FLOAT(...)
#define OF_INT(...)
#define OF_FLAG(...)
#define OF_HALF(id, each) \
  case SN_##id:           \
    each;
#define OF_SMALL OF_HALF

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
#define DTYPE(id, name, short_, T, kind, ...) OF_##kind(id, READ_EACH(T, x))
#include "graph/dtypes.def"
  }
}

void *sn_gather_in_place(const sn_operand *o, int64_t offset, const int64_t *dims, int rank,
                         int64_t flat, int64_t n, void *base) {
  const int last = rank - 1;
  if (last < 0 || o->strides[last] != 1 || !sn_strip_is_memory(o->dtype)) return NULL;
  if (flat % dims[last] + n > dims[last]) return NULL;
  return sn_element_mutable(base, offset + sn_offset_at(dims, o->strides, rank, flat),
                            sn_dtype_bytes(o->dtype));
}

void sn_gather(const sn_operand *o, int64_t offset, const int64_t *dims, int rank, int64_t flat,
               int64_t n, const void *base, void *strip) {
  cursor c = cursor_at(o, offset, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    sn_gather_run(o->dtype, sn_element_mutable(strip, done, sn_strip_bytes(o->dtype)),
                  sn_element(base, c.at, sn_dtype_bytes(o->dtype)), stride, run);
    done += run;
    advance(&c, run);
  }
}

/* As advance, and along the same dims by other strides. */
static void advance_both(cursor *c, const int64_t *strides, int64_t *at, int64_t steps) {
  int i = c->rank - 1;
  if (i < 0) return;
  c->index[i] += steps;
  c->at += steps * c->strides[i];
  *at += steps * strides[i];
  for (; i > 0 && c->index[i] == c->dims[i]; i--) {
    c->index[i] = 0;
    c->index[i - 1]++;
    c->at += c->strides[i - 1] - c->dims[i] * c->strides[i];
    *at += strides[i - 1] - c->dims[i] * strides[i];
  }
}

/* Rows of a table are short, often: a call would take longer than they. */
static void read_row(sn_dtype dtype, void *to, const void *from, int64_t stride, int64_t n) {
  enum { SHORT = 32 };
  if (stride != 1 || n > SHORT || (dtype != SN_F32 && dtype != SN_I32)) {
    sn_gather_run(dtype, to, from, stride, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
}

/* One place for a run, unless the index changes along it. A row that is as long as the strip is read
 * where it lies. */
void *sn_gather_lookup(const sn_operand *o, int64_t offset, const sn_indexing *place,
                       int64_t index_offset, const int64_t *dims, int rank, int64_t flat, int64_t n,
                       void *base, const void *indices, void *strip) {
  const size_t item = sn_dtype_bytes(o->dtype), strip_item = sn_strip_bytes(o->dtype);
  const int64_t *strides = place->index.strides;
  cursor c = cursor_at(o, offset, dims, rank, flat);
  int64_t index_at = index_offset;
  for (int i = 0; i < rank; i++) index_at += c.index[i] * strides[i];
  const bool one_place = !rank || !strides[rank - 1];
  for (int64_t done = 0, stride; done < n;) {
    const int64_t run = one_place ? run_length(&c, n - done, &stride) : 1;
    const int64_t at = sn_position(((const int32_t *)indices)[index_at], place->length);
    void *from = sn_element_mutable(base, c.at + at * place->stride, item);
    if (!one_place) stride = 1;
    if (run == n && stride == 1 && sn_strip_is_memory(o->dtype)) return from;
    read_row(o->dtype, sn_element_mutable(strip, done, strip_item), from, stride, run);
    done += run;
    advance_both(&c, strides, &index_at, run);
  }
  return strip;
}

void sn_gather_single(const sn_operand *o, int64_t offset, const void *base, void *strip,
                      int64_t n) {
  sn_gather_run(o->dtype, strip, sn_element(base, offset, sn_dtype_bytes(o->dtype)), 0, n);
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

void sn_gather_index(const sn_operand *o, int64_t offset, const int64_t *dims, int rank,
                     int64_t flat, int64_t n, void *strip) {
  cursor c = cursor_at(o, offset, dims, rank, flat);
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
    strips->mask_store(to, from, from, from, n, false);
    break;
#define DTYPE(id, name, short_, T, kind, ...) OF_##kind(id, WRITE_EACH(T, bits))
#include "graph/dtypes.def"
  }
}

void sn_store_strided(const sn_strips *strips, const sn_operand *o, int64_t offset, bool linear,
                      const int64_t *dims, int rank, int64_t flat, int64_t n, const void *strip,
                      void *base) {
  const size_t item = sn_dtype_bytes(o->dtype);
  if (linear) {
    write_run(strips, o->dtype, sn_element_mutable(base, offset + flat, item), strip, 1, n);
    return;
  }
  cursor c = cursor_at(o, offset, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    write_run(strips, o->dtype, sn_element_mutable(base, c.at, item),
              sn_element(strip, done, sn_strip_bytes(o->dtype)), stride, run);
    done += run;
    advance(&c, run);
  }
}
