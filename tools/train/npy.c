#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"

/* What numpy reads of a file that it does not trust. */
enum { MOST_HEADER_BYTES = 10000 };

/* numpy's names behind the order of the bytes. wide: of integers that tensors have not: how many bytes each has. */
static const struct {
  const char *name;
  sn_dtype dtype;
  int wide;
} dtypes[] = {{"f4", SN_F32, 0}, {"f8", SN_F64, 0}, {"f2", SN_F16, 0},  {"i4", SN_I32, 0},
              {"i1", SN_I8, 0},  {"u1", SN_U8, 0},  {"b1", SN_BOOL, 0}, {"i8", SN_I32, 8},
              {"u8", SN_I32, 8}, {"i2", SN_I32, 2}, {"u2", SN_I32, 2},  {"u4", SN_I32, 4}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

_Noreturn static void damaged(const char *path, const char *why) {
  stop(EXIT_INPUT, "%s: damaged: %s", path, why);
}

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct cursor {
  const char *path, *at, *end;
} cursor;

static void skip_spaces(cursor *c) {
  while (c->at < c->end && isspace((unsigned char)*c->at)) c->at++;
}

/* Whether text comes next, which is then behind. */
static bool next_is(cursor *c, const char *text) {
  const size_t length = strlen(text);
  skip_spaces(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length)) return false;
  c->at += length;
  return true;
}

static void expect(cursor *c, const char *text) {
  if (!next_is(c, text)) damaged(c->path, "the header is not the one of an array");
}

/* (2, 3), (2,) or (). */
static void read_shape(cursor *c, npy_array *out) {
  expect(c, "(");
  bool comma = true;
  while (!next_is(c, ")")) {
    int64_t size = 0;
    int digits = 0;
    skip_spaces(c);
    for (; c->at < c->end && isdigit((unsigned char)*c->at) && digits < 15; c->at++, digits++)
      size = 10 * size + (*c->at - '0');
    if (!digits || !comma) damaged(c->path, "the shape is not one");
    if (out->rank == SN_MAX_RANK) stop(EXIT_INPUT, "%s: more than %d axes", c->path, SN_MAX_RANK);
    out->dims[out->rank++] = size;
    comma = next_is(c, ",");
  }
  if (out->rank == 1 && !comma) damaged(c->path, "the shape is not one");
}

/* The row of a dtype. */
static int read_descr(cursor *c) {
  expect(c, "'");
  const bool swapped = next_is(c, ">"),
             known = swapped || next_is(c, "<") || next_is(c, "|") || next_is(c, "=");
  for (int i = 0; known && i < DTYPES; i++) {
    if (!next_is(c, dtypes[i].name)) continue;
    expect(c, "'");
    if (swapped && dtypes[i].name[1] != '1')
      stop(EXIT_INPUT,
           "%s: numbers with their highest bytes first; save x.astype(x.dtype.newbyteorder('<'))",
           c->path);
    return i;
  }
  stop(EXIT_INPUT, "%s: %.*s is no dtype of tensors", c->path,
       (int)(c->end - c->at < 8 ? c->end - c->at : 8), c->at);
}

/* A dict of three keys in any order, each once. */
static int read_header(cursor *c, npy_array *out) {
  bool seen[3] = {false, false, false}, more = true;
  int row = 0;
  expect(c, "{");
  while (!next_is(c, "}")) {
    if (!more) damaged(c->path, "the header is not the one of an array");
    const int key = next_is(c, "'descr'")           ? 0
                    : next_is(c, "'fortran_order'") ? 1
                    : next_is(c, "'shape'")         ? 2
                                                    : -1;
    if (key < 0 || seen[key]) damaged(c->path, "the header is not the one of an array");
    seen[key] = true;
    expect(c, ":");
    if (key == 0) row = read_descr(c);
    if (key == 2) read_shape(c, out);
    if (key == 1 && next_is(c, "True"))
      stop(EXIT_INPUT, "%s: columns lie together; save numpy.ascontiguousarray(x)", c->path);
    if (key == 1) expect(c, "False");
    more = next_is(c, ",");
  }
  skip_spaces(c);
  if (c->at != c->end || !(seen[0] && seen[1] && seen[2]))
    damaged(c->path, "the header is not the one of an array");
  return row;
}

/* Where the header is. */
static cursor find_header(const char *path, file_view file) {
  const uint8_t *b = file.bytes;
  if (file.size < 12 || memcmp(b, "\x93NUMPY", 6)) damaged(path, "no npy begins so");
  const bool is_long = b[6] == 2 || b[6] == 3;
  if ((b[6] != 1 && !is_long) || b[7])
    stop(EXIT_INPUT, "%s: version %d.%d of npy", path, b[6], b[7]);
  const size_t begin = is_long ? 12 : 10;
  size_t length = b[8] | (size_t)b[9] << 8;
  if (is_long) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (length > MOST_HEADER_BYTES || length > file.size - begin)
    damaged(path, "the header is longer than the file or any header");
  return (cursor){path, (const char *)b + begin, (const char *)b + begin + length};
}

/* ---- the elements ---------------------------------------------------------------------------- */

static size_t count_elements(const npy_array *a) {
  size_t count = 1;
  for (int i = 0; i < a->rank; i++)
    if (__builtin_mul_overflow(count, (size_t)a->dims[i], &count))
      damaged(a->path, "the shape is larger than any file");
  return count;
}

static void check_bools(const npy_array *a, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (((const uint8_t *)a->elements)[i] > 1) damaged(a->path, "a bool is neither 0 nor 1");
}

/* int32 of integers of so many bytes. */
static void narrow(npy_array *a, size_t count, int bytes, bool is_signed) {
  int32_t *out = allocate(count, sizeof *out);
  const uint8_t *at = a->elements;
  for (size_t i = 0; i < count; i++, at += bytes) {
    uint64_t word = 0;
    for (int k = 0; k < bytes; k++) word |= (uint64_t)at[k] << 8 * k;
    const uint64_t top = UINT64_C(1) << (8 * bytes - 1);
    const bool negative = is_signed && (word & top);
    const int64_t value = negative ? (int64_t)(word | ~(top | (top - 1))) : (int64_t)word;
    if (value < INT32_MIN || value > INT32_MAX || (!negative && value < 0))
      stop(EXIT_INPUT, "%s: element %zu is more than int32 holds", a->path, i);
    out[i] = (int32_t)value;
  }
  a->elements = out;
}

npy_array npy_open(const char *path) {
  npy_array a = {.path = path};
  if (!file_map(path, &a.file)) stop(EXIT_INPUT, "cannot read %s: %s", path, strerror(errno));
  cursor c = find_header(path, a.file);
  const int row = read_header(&c, &a);
  a.elements = c.end;
  a.dtype = dtypes[row].dtype;
  const size_t count = count_elements(&a),
               there = a.file.size - (size_t)((const uint8_t *)c.end - a.file.bytes);
  const size_t item = dtypes[row].wide ? (size_t)dtypes[row].wide : sn_dtype_bytes(a.dtype);
  if (count > SIZE_MAX / item || count * item != there)
    damaged(path, "the elements do not fill the shape");
  if (a.dtype == SN_BOOL) check_bools(&a, count);
  if (dtypes[row].wide) narrow(&a, count, dtypes[row].wide, dtypes[row].name[0] == 'i');
  a.hash = checksum(a.file.bytes, a.file.size, 0);
  return a;
}

void npy_close(npy_array *a) {
  const uint8_t *at = a->elements;
  if (at < a->file.bytes || at > a->file.bytes + a->file.size) free((void *)(uintptr_t)at);
  file_unmap(a->file);
}
