#include "batches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"

/* ---- what fits ------------------------------------------------------------------------------- */

/* (60000, 784) as text. */
static const char *shape_text(char *text, size_t size, int rank, const int64_t *dims) {
  size_t at = (size_t)snprintf(text, size, "(");
  for (int i = 0; i < rank && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "", dims[i]);
  if (at < size) snprintf(text + at, size - at, ")");
  return text;
}

static const char *const dtype_names[] = {
    [SN_F32] = "float32", [SN_F64] = "float64",   [SN_I32] = "int32", [SN_BOOL] = "bool",
    [SN_F16] = "float16", [SN_BF16] = "bfloat16", [SN_I8] = "int8",   [SN_U8] = "uint8"};

static void check_array(const npy_array *a, const sn_step_input *input) {
  char is[200], wanted[200];
  bool fits = a->rank == input->rank && input->rank > 0 && a->dtype == input->dtype;
  for (int i = 1; fits && i < a->rank; i++) fits = a->dims[i] == input->dims[i];
  if (!fits)
    stop(EXIT_INPUT, "%s: %s %s does not fit %s of the step, %s %s", a->path, dtype_names[a->dtype],
         shape_text(is, sizeof is, a->rank, a->dims), input->path, dtype_names[input->dtype],
         shape_text(wanted, sizeof wanted, input->rank, input->dims));
}

batches batches_of(const npy_array *arrays, size_t n_arrays, const sn_step_info *info,
                   uint32_t seed) {
  const sn_step_input *inputs = info->inputs + info->n_state + info->n_rates;
  if (n_arrays != info->n_batch)
    stop(EXIT_INPUT, "the step takes %zu arrays, %zu are given (--data, --labels)", info->n_batch,
         n_arrays);
  for (size_t i = 0; i < n_arrays; i++) {
    check_array(&arrays[i], &inputs[i]);
    if (arrays[i].dims[0] != arrays[0].dims[0])
      stop(EXIT_INPUT, "%s has %" PRId64 " rows, %s has %" PRId64, arrays[i].path,
           arrays[i].dims[0], arrays[0].path, arrays[0].dims[0]);
    if (inputs[i].dims[0] != inputs[0].dims[0])
      stop(EXIT_INPUT, "the step takes batches whose arrays have different numbers of rows");
  }
  batches b = {.arrays = arrays,
               .n_arrays = n_arrays,
               .rows = n_arrays ? (uint64_t)arrays[0].dims[0] : 0,
               .size = n_arrays ? (uint64_t)inputs[0].dims[0] : 0,
               .seed = seed,
               .pass = UINT64_MAX};
  b.per_pass = !n_arrays ? UINT64_MAX : b.size ? b.rows / b.size : 0;
  if (!b.per_pass)
    stop(EXIT_INPUT, "%s has %" PRIu64 " rows, a batch of the step has %" PRIu64, arrays[0].path,
         b.rows, b.size);
  if (b.rows > INT32_MAX) stop(EXIT_INPUT, "%s has more than 2^31 rows", arrays[0].path);
  b.order = allocate(b.rows, sizeof *b.order);
  return b;
}

/* ---- order ----------------------------------------------------------------------------------- */

static uint32_t rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/* Threefry-2x32 (Salmon et al., SC 2011), as js/src/random.ts. */
static void threefry(const uint32_t key[2], uint32_t words[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  words[0] += key[0];
  words[1] += key[1];
  for (uint32_t group = 1; group <= 5; group++) {
    for (int i = 0; i < 4; i++) {
      words[0] += words[1];
      words[1] = rotated(words[1], rotations[(group - 1) % 2][i]) ^ words[0];
    }
    words[0] += schedule[group % 3];
    words[1] += schedule[(group + 1) % 3] + group;
  }
}

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* argsort(bits(foldIn(key, pass), [rows])): the bits, as int32, above the row in one number. */
static void order_pass(batches *b, uint64_t pass) {
  const uint32_t seed[2] = {0, b->seed};
  uint32_t key[2] = {0, (uint32_t)pass};
  threefry(seed, key);
  for (uint64_t i = 0; i < b->rows; i++) {
    uint32_t words[2] = {0, (uint32_t)i};
    threefry(key, words);
    b->order[i] = (int64_t)(int32_t)(words[0] ^ words[1]) * INT64_C(0x100000000) + (int64_t)i;
  }
  qsort(b->order, b->rows, sizeof *b->order, compare);
  for (uint64_t i = 0; i < b->rows; i++) b->order[i] &= 0xffffffff;
  b->pass = pass;
}

/* ---- batches --------------------------------------------------------------------------------- */

static sn_tensor *gather(const batches *b, const npy_array *a, sn_context *ctx,
                         const int64_t *rows) {
  int64_t dims[SN_MAX_RANK];
  memcpy(dims, a->dims, sizeof dims);
  dims[0] = (int64_t)b->size;
  void *data;
  sn_tensor *t = sn_empty(ctx, a->dtype, a->rank, dims, &data);
  if (!t) stop_for(EXIT_TRAINING, "a batch", ctx);
  const size_t bytes = sn_size_bytes(t) / b->size;
  for (uint64_t i = 0; i < b->size; i++)
    memcpy((char *)data + i * bytes, (const char *)a->elements + (size_t)rows[i] * bytes, bytes);
  return t;
}

void batches_next(batches *b, sn_context *ctx, place *at, sn_tensor **out) {
  if (at->index >= b->per_pass) *at = (place){.pass = at->pass + 1, .steps = at->steps};
  if (b->pass != at->pass) order_pass(b, at->pass);
  for (size_t i = 0; i < b->n_arrays; i++)
    out[i] = gather(b, &b->arrays[i], ctx, b->order + at->index * b->size);
  at->index++;
}
