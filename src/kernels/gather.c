#include "kernels/gather.h"

#include <string.h>

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

static void read_mask_run(int32_t *to, const uint8_t *from, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = -(int32_t)(from[i * stride] != 0);
}

const void *sn_gather_in_place(const sn_operand *o, const int64_t *dims, int rank, int64_t flat,
                               int64_t n, const void *base) {
  int i = rank - 1;
  int64_t at = o->offset;
  if (i < 0 || o->strides[i] != 1 || o->dtype == SN_BOOL) return NULL;
  const int64_t first = flat % dims[i];
  if (first + n > dims[i]) return NULL;
  flat /= dims[i];
  for (at += first; i-- > 0;) {
    if (o->strides[i]) at += flat % dims[i] * o->strides[i];
    if (i) flat /= dims[i];
  }
  return (const char *)base + at * (ptrdiff_t)sn_dtype_bytes(o->dtype);
}

void sn_gather(const sn_operand *o, const int64_t *dims, int rank, int64_t flat, int64_t n,
               const void *base, void *strip) {
  cursor c = cursor_at(o, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    switch (o->dtype) {
    case SN_F32:
    case SN_I32:
      read_run32((uint32_t *)strip + done, (const uint32_t *)base + c.at, stride, run);
      break;
    case SN_F64:
      read_run64((uint64_t *)strip + done, (const uint64_t *)base + c.at, stride, run);
      break;
    case SN_BOOL:
      read_mask_run((int32_t *)strip + done, (const uint8_t *)base + c.at, stride, run);
      break;
    }
    done += run;
    advance(&c, run);
  }
}

void sn_gather_single(const sn_operand *o, const void *base, void *strip, int64_t n) {
  switch (o->dtype) {
  case SN_F32:
  case SN_I32: read_run32(strip, (const uint32_t *)base + o->offset, 0, n); break;
  case SN_F64: read_run64(strip, (const uint64_t *)base + o->offset, 0, n); break;
  case SN_BOOL: read_mask_run(strip, (const uint8_t *)base + o->offset, 0, n); break;
  }
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

static void write_mask_run(const sn_strips *strips, uint8_t *to, const int32_t *from,
                           int64_t stride, int64_t n) {
  if (stride == 1)
    strips->mask_store(to, from, from, from, n);
  else
    for (int64_t i = 0; i < n; i++) to[i * stride] = (uint8_t)(from[i] & 1);
}

static void write_run(const sn_strips *strips, sn_dtype dtype, void *base, int64_t at,
                      const void *strip, int64_t done, int64_t stride, int64_t n) {
  switch (dtype) {
  case SN_F32:
  case SN_I32: write_run32((uint32_t *)base + at, (const uint32_t *)strip + done, stride, n); break;
  case SN_F64: write_run64((uint64_t *)base + at, (const uint64_t *)strip + done, stride, n); break;
  case SN_BOOL:
    write_mask_run(strips, (uint8_t *)base + at, (const int32_t *)strip + done, stride, n);
    break;
  }
}

void sn_scatter(const sn_strips *strips, const sn_operand *o, bool linear, const int64_t *dims,
                int rank, int64_t flat, int64_t n, const void *strip, void *base) {
  if (linear) {
    write_run(strips, o->dtype, base, o->offset + flat, strip, 0, 1, n);
    return;
  }
  cursor c = cursor_at(o, dims, rank, flat);
  for (int64_t done = 0; done < n;) {
    int64_t stride;
    const int64_t run = run_length(&c, n - done, &stride);
    write_run(strips, o->dtype, base, c.at, strip, done, stride, run);
    done += run;
    advance(&c, run);
  }
}
