#include "kernels/strided.h"

#include <string.h>

#include "kernels/elements.h"

/* A walk over a strip's points, run by run along the innermost dimension: the run has `run` points
 * from point `done` on, stride apart, the first at at.offset. `beside` is a second list of strides,
 * which at.mark follows. */
typedef struct runs {
  const int64_t *dims, *strides, *beside;
  int rank;
  int64_t n, done, run, stride;
  sn_nest_place at;
} runs;

static runs runs_of(const sn_operand *o, const int64_t *dims, int rank, int64_t flat, int64_t n) {
  static const int64_t none[SN_MAX_RANK];
  return (runs){.dims = dims,
                .strides = o->strides,
                .beside = none,
                .rank = rank,
                .n = n,
                .stride = rank ? o->strides[rank - 1] : 0,
                .at = sn_strides_seek(dims, o->strides, none, rank, flat)};
}

static bool next_run(runs *r) {
  r->done += r->run;
  if (r->done == r->n) return false;
  if (r->run) sn_strides_advance(r->dims, r->strides, r->beside, r->rank, &r->at, r->run);
  const int64_t left = r->n - r->done;
  const int64_t run = r->rank ? r->dims[r->rank - 1] - r->at.digits[r->rank - 1] : left;
  r->run = run < left ? run : left;
  return true;
}

static void read_run32(uint32_t *to, const uint32_t *from, int64_t stride, int64_t n) {
  if (stride == 1)
    memcpy(to, from, (size_t)n * sizeof *to);
  else if (stride == 0) /* a loop of its own, which compilers vectorize */
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

/* Each small dtype of dtypes.def makes a case; the other dtypes make nothing. */
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
  for (runs r = runs_of(o, dims, rank, flat, n); next_run(&r);)
    sn_gather_run(o->dtype, sn_element_mutable(strip, r.done, sn_strip_bytes(o->dtype)),
                  sn_element(base, offset + r.at.offset, sn_dtype_bytes(o->dtype)), r.stride,
                  r.run);
}

/* Rows of a table are often short: a call of memcpy would take longer than copying them. */
static void read_row(sn_dtype dtype, void *to, const void *from, int64_t stride, int64_t n) {
  enum { SHORT = 32 };
  if (stride != 1 || n > SHORT || (dtype != SN_F32 && dtype != SN_I32)) {
    sn_gather_run(dtype, to, from, stride, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
}

/* Looks up a place for each element of a run: x[i stride + place of index[i apart]]. */
#define DEFINE_READ_PLACES(T)                                                               \
  static void read_places_##T(T *to, const T *x, int64_t stride, const sn_indexing *place,  \
                              const int32_t *index, int64_t apart, int64_t n) {             \
    for (int64_t i = 0; i < n; i++)                                                         \
      to[i] = x[i * stride + place->stride * sn_position(index[i * apart], place->length)]; \
  }

DEFINE_READ_PLACES(uint32_t)
DEFINE_READ_PLACES(uint64_t)

static void read_places(sn_dtype dtype, void *to, const void *x, int64_t stride,
                        const sn_indexing *place, const int32_t *index, int64_t apart, int64_t n) {
  const size_t item = sn_dtype_bytes(dtype), strip_item = sn_strip_bytes(dtype);
  if (sn_strip_is_memory(dtype) && item == 4) {
    read_places_uint32_t(to, x, stride, place, index, apart, n);
  } else if (sn_strip_is_memory(dtype)) {
    read_places_uint64_t(to, x, stride, place, index, apart, n);
  } else {
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = i * stride + place->stride * sn_position(index[i * apart], place->length);
      sn_gather_run(dtype, sn_element_mutable(to, i, strip_item), sn_element(x, at, item), 0, 1);
    }
  }
}

/* Looks up one place per run, unless the index changes along it. If one run is the whole strip, it is
 * read in place. */
void *sn_gather_lookup(const sn_operand *o, int64_t offset, const sn_indexing *place,
                       int64_t index_offset, const int64_t *dims, int rank, int64_t flat, int64_t n,
                       void *base, const void *indices, void *strip) {
  const size_t item = sn_dtype_bytes(o->dtype), strip_item = sn_strip_bytes(o->dtype);
  const int64_t *strides = place->index.strides, apart = rank ? strides[rank - 1] : 0;
  const int32_t *index = (const int32_t *)indices + index_offset;
  runs r = runs_of(o, dims, rank, flat, n);
  r.beside = strides;
  r.at = sn_strides_seek(dims, o->strides, strides, rank, flat);
  while (next_run(&r)) {
    void *to = sn_element_mutable(strip, r.done, strip_item);
    if (apart) {
      read_places(o->dtype, to, sn_element(base, offset + r.at.offset, item), r.stride, place,
                  index + r.at.mark, apart, r.run);
      continue;
    }
    const int64_t at =
        offset + r.at.offset + place->stride * sn_position(index[r.at.mark], place->length);
    void *from = sn_element_mutable(base, at, item);
    if (r.run == n && r.stride == 1 && sn_strip_is_memory(o->dtype)) return from;
    read_row(o->dtype, to, from, r.stride, r.run);
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
  for (runs r = runs_of(o, dims, rank, flat, n); next_run(&r);)
    index_run(o->dtype, strip, r.done, offset + r.at.offset, r.stride, r.run);
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
  for (runs r = runs_of(o, dims, rank, flat, n); next_run(&r);)
    write_run(strips, o->dtype, sn_element_mutable(base, offset + r.at.offset, item),
              sn_element(strip, r.done, sn_strip_bytes(o->dtype)), r.stride, r.run);
}
